package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// TurnStore gives out the turns of channels that have a rate limit.
type TurnStore interface {
	TakeTurns(ctx context.Context, in notification.TurnsWanted) (notification.Turns, error)
}

const (
	// turnPatience is the time that a send waits for its turn. Then it gives its slot back, so
	// that what is more urgent finds one.
	turnPatience = 5 * time.Second
	// slotPatience is the time that the last of a worker's slots waits for its turn, where no
	// other process has any: less than turnPatience.
	slotPatience = 2 * time.Second
	// turnRetry is the time until a send that got no turn is tried again.
	turnRetry = time.Second
)

// errNoTurn is the failure of an attempt that sent nothing because of the rate limit, and is
// repeated.
var errNoTurn = temporal.NewApplicationErrorWithOptions("the rate limit left no turn for it: what is more urgent uses them up", RateLimited, temporal.ApplicationErrorOptions{
	NextRetryDelay: turnRetry,
	Category:       temporal.ApplicationErrorCategoryBenign,
})

// SendSlots is the number of messages of a channel that a worker sends, or lets wait for their
// turns, at the same time: as many as get theirs within turnPatience, and most at most.
func SendSlots(rate float64, most int) int {
	if rate == 0 {
		return most
	}
	return int(min(max(2, rate*slotPatience.Seconds()), float64(most)))
}

// turn waits for the turn of one message.
func (a *Activities) turn(ctx context.Context, channel notification.Channel) error {
	ctx, cancel := context.WithTimeoutCause(ctx, turnPatience, errNoTurn)
	defer cancel()
	_, err := a.turns(ctx, channel, 1, false)
	return err
}

// turns waits until the channel's rate limit lets messages be sent, and returns how many:
// at least one, and at most as many as are ready. They are due together, so they are no
// more than the turns of a fifth of a second. If ctx ends before, the error is its cause.
//
// The more urgent come first, then single messages before a batch's messages, and then one
// of each fairness key in turn.
func (a *Activities) turns(ctx context.Context, channel notification.Channel, ready int, batch bool) (int, error) {
	rate := a.RateLimits[channel]
	if rate == 0 {
		return ready, nil
	}
	begun, priority := time.Now(), activity.GetInfo(ctx).Priority
	w := &turnWaiter{
		rank:     turnRank(priority.PriorityKey, batch),
		key:      priority.FairnessKey,
		most:     min(ready, 1+int(min(rate, 10_000)/5)),
		answered: make(chan struct{}),
	}
	found, _ := a.turnQueues.LoadOrStore(channel, &turnQueue{store: a.Turns, channel: channel, rate: rate, urgent: make(chan struct{}, 1)})
	queue := found.(*turnQueue)
	queue.join(w)
	select {
	case <-w.answered:
	case <-ctx.Done():
		if queue.leave(w) {
			return 0, context.Cause(ctx)
		}
		<-w.answered // just before it would have left
	}
	time.Sleep(time.Until(w.due)) // less than a second, and the turn is taken
	if w.err == nil {
		observeTurn(ctx, channel, time.Since(begun))
	}
	return w.granted, w.err
}

// turnRanks are the three priorities, each of a single message or of a batch.
const turnRanks = 6

// turnRank is the place of a message among the messages that wait for a turn; 0 comes first.
// key is Temporal's: 1 to 5, or 0 for none.
func turnRank(key int, batch bool) int {
	if key == 0 {
		key = 3
	}
	rank := min(key-1, 4) / 2 * 2
	if batch {
		rank++
	}
	return rank
}

// turnAhead is the distance by which a rank may reserve turns ahead of now. Of the ranks that want
// all turns only the first gets any, in whatever process it waits: it takes each turn
// before the next one may. 100 ms between two ranks are time enough to ask.
func turnAhead(rank int) time.Duration {
	return time.Duration(turnRanks-rank) * 100 * time.Millisecond
}
