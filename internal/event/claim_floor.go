package event

import (
	"sync"
	"time"

	"herald/internal/notification"
)

// claimFloor is the seq from which most claims of a source look for pending events. While a
// session holds an old snapshot, Postgres keeps an index entry for each row that was
// pending since that snapshot. A claim that starts before these entries reads them all again.
//
// A row may become free below the floor: its producer committed late, or its lease ran out.
// So the floor stays a moment behind the claims, which gives producers time between insert
// and commit. Once a second, a claim looks at all rows.
type claimFloor struct {
	mu     sync.Mutex
	looked time.Time // when a claim last looked at all rows
	moved  time.Time // when the floor last moved
	floor  int64
	next   int64 // the floor after its next move
	behind int64 // the seq after the last claimed event
}

const (
	// lookInterval is the longest time that a free row below the floor waits.
	lookInterval = time.Second
	// floorInterval is the time between two moves of the floor. The floor stays one to two
	// intervals behind the claims.
	floorInterval = 250 * time.Millisecond
)

// from returns the seq from which a claim looks for events; 0: from the first event.
func (f *claimFloor) from(now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) < lookInterval {
		return f.floor
	}
	f.looked = now // other claims need not look too
	return 0
}

// claimed records the rows that a claim found.
func (f *claimFloor) claimed(rows []claimedEvent, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.behind
	if len(rows) > 0 {
		first = rows[0].Seq
		f.behind = max(f.behind, rows[len(rows)-1].Seq+1)
	}
	if first < f.floor { // more rows may be free there
		f.floor, f.next, f.moved = first, first, now
	}
	if now.Sub(f.moved) >= floorInterval {
		f.floor, f.next, f.moved = f.next, first, now
	}
}

// claimedEvent is a row of a claim.
type claimedEvent struct {
	notification.PendingEvent
	Seq int64
}

// claimFloors holds the floor of each source.
type claimFloors struct{ floors sync.Map }

func (f *claimFloors) of(source string) *claimFloor {
	floor, _ := f.floors.LoadOrStore(source, &claimFloor{})
	return floor.(*claimFloor)
}
