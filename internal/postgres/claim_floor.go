package postgres

import (
	"sync"
	"time"

	"herald/internal/notification"
)

// claimFloor is the seq from which most claims of a source look for pending events. While
// some session holds an old snapshot, each row that was pending since is read again by
// every claim that begins before it.
//
// A row may come to be free below the floor: its producer committed late, or its lease ran
// out. So the floor stays a moment behind the claims, which leaves producers as much time
// between insert and commit, and once a second a claim looks at all rows.
type claimFloor struct {
	mu     sync.Mutex
	looked time.Time // when a claim looked at all rows
	moved  time.Time // when the floor was moved
	floor  int64
	next   int64 // the floor after its next move
	behind int64 // the seq after all that was claimed
}

const (
	// lookInterval is how long what is free below the floor may wait.
	lookInterval = time.Second
	// floorInterval is the time between two moves of the floor, which is once to twice that far
	// behind the claims.
	floorInterval = 250 * time.Millisecond
)

// from returns from which seq a claim looks for events; 0: at all of them.
func (f *claimFloor) from(now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) < lookInterval {
		return f.floor
	}
	f.looked = now // other claims need not look, too
	return 0
}

// claimed notes what a claim found.
func (f *claimFloor) claimed(rows []claimedEvent, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.behind
	if len(rows) > 0 {
		first = rows[0].Seq
		f.behind = max(f.behind, rows[len(rows)-1].Seq+1)
	}
	if first < f.floor { // more may be free there
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

// claimFloors has the floor of each source.
type claimFloors struct {
	mu     sync.Mutex
	floors map[string]*claimFloor
}

func (f *claimFloors) of(source string) *claimFloor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floors == nil {
		f.floors = map[string]*claimFloor{}
	}
	if f.floors[source] == nil {
		f.floors[source] = &claimFloor{}
	}
	return f.floors[source]
}
