package limit

import (
	"context"
	"slices"
	"sync"
	"time"

	"herald/internal/notification"
)

// tokenTimeout bounds the statement that takes tokens.
const tokenTimeout = 5 * time.Second

// queue holds this process's senders that wait for tokens of one channel. While senders wait, one
// goroutine takes tokens for all of them.
type queue struct {
	tokens  Tokens
	channel notification.Channel
	rate    float64
	urgent  chan struct{} // wakes take: a sender has joined that may reserve further ahead

	mu         sync.Mutex
	waiting    []*waiter // in the order of arrival
	taking     bool
	wantedRank int            // the rank of the last request for tokens
	served     map[string]int // by waiting key: the value of `removed` at the key's last token
	removed    int            // counts senders that got a token, or left
}

// waiter is a sender that waits for tokens. due, granted and err are set before answered is closed.
type waiter struct {
	Waiter
	answered chan struct{}
	due      time.Time // the time of its last token
	granted  int
	err      error
}

func (q *queue) join(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	switch {
	case !q.taking:
		q.taking = true
		go q.take()
	case w.Rank < q.wantedRank:
		select {
		case q.urgent <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}

// leave removes a sender that stops waiting. It returns false if the sender already has its answer.
func (q *queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.remove(at)
	}
	return at >= 0
}

// take takes tokens until no sender waits.
func (q *queue) take() {
	for {
		wanted, some := q.wanted()
		if !some {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), tokenTimeout) // not a sender's context: the tokens are for all senders
		taken, err := q.tokens.TakeTokens(ctx, wanted)
		cancel()
		q.answer(taken, err)
		if err == nil && taken.Granted == 0 {
			q.pause(taken.Wait)
		}
	}
}

// pause waits for d, or until a more urgent sender joins.
func (q *queue) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.urgent:
	}
}

// wanted returns what the first rank wants. It returns false if no sender waits; then
// take ends.
func (q *queue) wanted() (Wanted, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.taking = false
		return Wanted{}, false
	}
	q.wantedRank = q.waiting[q.first()].Rank
	most := 0
	for _, w := range q.waiting {
		if w.Rank == q.wantedRank {
			most += w.Most
		}
	}
	return Wanted{Name: string(q.channel), Rate: q.rate, Most: most, Ahead: ahead(q.wantedRank)}, true
}

// answer gives tokens to the first senders, or an error to all senders.
func (q *queue) answer(taken Taken, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := time.Now().Add(taken.Wait)
	for len(q.waiting) > 0 && (taken.Granted > 0 || err != nil) {
		w := q.remove(q.first())
		w.granted, w.err = min(w.Most, taken.Granted), err
		due = due.Add(q.lasting(w.granted))
		w.due = due.Add(-q.lasting(1))
		taken.Granted -= w.granted
		close(w.answered)
	}
}

// lasting returns the duration of a number of tokens at the channel's rate.
func (q *queue) lasting(tokens int) time.Duration {
	return time.Duration(float64(tokens) / q.rate * float64(time.Second))
}

// first returns the index of the next sender: it has the first rank, then the key with the oldest
// last token, then the longest wait.
func (q *queue) first() int {
	first := 0
	for i, w := range q.waiting {
		best := q.waiting[first]
		if w.Rank < best.Rank || w.Rank == best.Rank && q.served[w.Key] < q.served[best.Key] {
			first = i
		}
	}
	return first
}

// remove takes a sender out of the queue. If no sender of its key waits any more, it forgets the
// key, so the key's next sender comes first.
func (q *queue) remove(at int) *waiter {
	w := q.waiting[at]
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.removed++
	if q.served == nil {
		q.served = map[string]int{}
	}
	q.served[w.Key] = q.removed
	if !slices.ContainsFunc(q.waiting, func(other *waiter) bool { return other.Key == w.Key }) {
		delete(q.served, w.Key)
	}
	return w
}
