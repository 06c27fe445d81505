package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"herald/internal/notification"
)

// turnTimeout bounds the statement that takes turns.
const turnTimeout = 5 * time.Second

// turnQueue holds this process's senders waiting for turns of one channel. While senders wait, one
// goroutine takes turns for all of them.
type turnQueue struct {
	store   TurnStore
	channel notification.Channel
	rate    float64
	urgent  chan struct{} // wakes take: a sender has joined that may reserve further ahead

	mu         sync.Mutex
	waiting    []*turnWaiter // in the order of arrival
	taking     bool
	wantedRank int            // the rank of the last request for turns
	served     map[string]int // by waiting key: the value of `removed` at the key's last turn
	removed    int            // counts senders that had a turn, or left
}

// turnWaiter is one sender waiting for turns. due, granted and err are set before answered is
// closed.
type turnWaiter struct {
	rank     int
	key      string // the fairness key: keys take turns
	most     int
	answered chan struct{}
	due      time.Time // the time of its last turn
	granted  int
	err      error
}

func (q *turnQueue) join(w *turnWaiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	switch {
	case !q.taking:
		q.taking = true
		go q.take()
	case w.rank < q.wantedRank:
		select {
		case q.urgent <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}

// leave removes a sender that stops waiting. It returns false if the sender already has its answer.
func (q *turnQueue) leave(w *turnWaiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.remove(at)
	}
	return at >= 0
}

// take takes turns until no sender waits.
func (q *turnQueue) take() {
	for {
		wanted, some := q.wanted()
		if !some {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), turnTimeout) // not a sender's context: the turns are for all senders
		turns, err := q.store.TakeTurns(ctx, wanted)
		cancel()
		q.answer(turns, err)
		if err == nil && turns.Granted == 0 {
			q.pause(turns.Wait)
		}
	}
}

// pause waits for d, or until a more urgent sender joins.
func (q *turnQueue) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.urgent:
	}
}

// wanted returns the turns that the first rank wants. It returns false if no sender waits; then
// take ends.
func (q *turnQueue) wanted() (notification.TurnsWanted, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.taking = false
		return notification.TurnsWanted{}, false
	}
	q.wantedRank = q.waiting[q.first()].rank
	most := 0
	for _, w := range q.waiting {
		if w.rank == q.wantedRank {
			most += w.most
		}
	}
	return notification.TurnsWanted{Name: string(q.channel), Rate: q.rate, Most: most, Ahead: turnAhead(q.wantedRank)}, true
}

// answer gives turns to the first senders, or an error to all senders.
func (q *turnQueue) answer(turns notification.Turns, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := time.Now().Add(turns.Wait)
	for len(q.waiting) > 0 && (turns.Granted > 0 || err != nil) {
		w := q.remove(q.first())
		w.granted, w.err = min(w.most, turns.Granted), err
		due = due.Add(q.lasting(w.granted))
		w.due = due.Add(-q.lasting(1))
		turns.Granted -= w.granted
		close(w.answered)
	}
}

// lasting returns the duration of a number of turns at the channel's rate.
func (q *turnQueue) lasting(turns int) time.Duration {
	return time.Duration(float64(turns) / q.rate * float64(time.Second))
}

// first returns the index of the next sender: it has the first rank, then the key with the oldest
// last turn, then the longest wait.
func (q *turnQueue) first() int {
	first := 0
	for i, w := range q.waiting {
		best := q.waiting[first]
		if w.rank < best.rank || w.rank == best.rank && q.served[w.key] < q.served[best.key] {
			first = i
		}
	}
	return first
}

// remove takes a sender out of the queue. If no sender of its key waits any more, it forgets the
// key, so the key's next sender comes first.
func (q *turnQueue) remove(at int) *turnWaiter {
	w := q.waiting[at]
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.removed++
	if q.served == nil {
		q.served = map[string]int{}
	}
	q.served[w.key] = q.removed
	if !slices.ContainsFunc(q.waiting, func(other *turnWaiter) bool { return other.key == w.key }) {
		delete(q.served, w.key)
	}
	return w
}
