package limit

import (
	"context"
	"sync"
	"time"

	"herald/internal/notification"
)

// Pace holds this process's messages back until the rate limits of their channels allow them. A nil
// Pace has no limits.
type Pace struct {
	Tokens Tokens
	Rates  map[notification.Channel]float64 // messages a second over all processes; 0, or no entry: no limit

	queues sync.Map // by channel: a *queue
}

// Waiter is a sender that waits for tokens: more urgent ranks come first, and within a rank one message
// of each key in turn.
type Waiter struct {
	Rank int    // from [Rank]
	Key  string // the fairness key
	Most int    // the number of messages that are ready, at least 1
}

// Rate returns the messages a second of a channel; 0: no limit.
func (p *Pace) Rate(channel notification.Channel) float64 {
	if p == nil {
		return 0
	}
	return p.Rates[channel]
}

// Wait waits until the channel's rate limit allows messages, and returns their number: at least one, and
// at most w.Most. The messages are due together, so their number is limited to the tokens of 200 ms.
// If ctx ends before, the error is its cause.
func (p *Pace) Wait(ctx context.Context, channel notification.Channel, w Waiter) (int, error) {
	rate := p.Rate(channel)
	if rate == 0 {
		return w.Most, nil
	}
	w.Most = min(w.Most, 1+int(min(rate, 10_000)/5))
	waiting := &waiter{Waiter: w, answered: make(chan struct{})}
	found, _ := p.queues.LoadOrStore(channel, &queue{tokens: p.Tokens, channel: channel, rate: rate, urgent: make(chan struct{}, 1)})
	q := found.(*queue)
	q.join(waiting)
	select {
	case <-waiting.answered:
	case <-ctx.Done():
		if q.leave(waiting) {
			return 0, context.Cause(ctx)
		}
		<-waiting.answered // the answer came before ctx ended
	}
	time.Sleep(time.Until(waiting.due)) // less than a second, and the token is taken
	return waiting.granted, waiting.err
}

// ranks are the three priorities, each of a single message or of a batch.
const ranks = 6

// Rank returns the rank of a message among the messages that wait for a token; 0 comes first.
// priority is Temporal's priority key: 1 to 5, or 0 for none.
func Rank(priority int, batch bool) int {
	if priority == 0 {
		priority = 3
	}
	rank := min(priority-1, 4) / 2 * 2
	if batch {
		rank++
	}
	return rank
}

// ahead returns the time ahead of now for which a rank may reserve tokens. If several ranks want
// all tokens, only the first rank gets any, in every process: it may take each token 100 ms before
// the next rank may. 100 ms are enough for the request.
func ahead(rank int) time.Duration { return time.Duration(ranks-rank) * 100 * time.Millisecond }
