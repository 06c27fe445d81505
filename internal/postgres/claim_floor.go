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
// out. So the floor stays a second or two behind the claims, which leaves producers as
// much time between insert and commit, and once a second a claim looks at all rows.
type claimFloor struct {
	mu     sync.Mutex
	looked time.Time // at all rows
	floor  int64
	next   int64 // the floor from the next look at all rows on
	behind int64 // all that was claimed
}

// floorAge is how long a claim may miss what is free below the floor.
const floorAge = time.Second

// from returns from which seq a claim looks for events, and whether these are all.
func (f *claimFloor) from(now time.Time) (seq int64, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) < floorAge {
		return f.floor, false
	}
	f.looked = now // other claims need not look, too
	return 0, true
}

// claimed notes what a claim found.
func (f *claimFloor) claimed(rows []claimedEvent, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(rows) > 0 {
		f.behind = max(f.behind, rows[len(rows)-1].Seq+1)
	}
	switch {
	case !all:
	case len(rows) == 0:
		f.floor, f.next = f.next, f.behind
	default:
		f.floor, f.next = f.next, rows[0].Seq
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
