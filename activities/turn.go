package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// TurnStore gives out the turns of channels that have a rate limit.
type TurnStore interface {
	TakeTurns(ctx context.Context, in notification.TurnsWanted) (notification.Turns, error)
}

const (
	// turnPatience is the time that a send waits for its turn. Then it gives its slot back to
	// more urgent messages.
	turnPatience = 5 * time.Second
	// slotPatience is the time that a worker's last slot waits for its turn if no other process
	// takes turns. It is less than turnPatience.
	slotPatience = 2 * time.Second
	// restPatience is the time that a send waits for a provider while all of them rest. Then it
	// gives its slot back, too. It calls again every restLook.
	restPatience = 3 * time.Second
	restLook     = 250 * time.Millisecond
	// turnRetry is the time until the next attempt of a send that got no turn.
	turnRetry = time.Second
	// restRetryMost limits the time until the next attempt of a send that found all providers at
	// rest, because an operator may end a rest.
	restRetryMost = time.Minute
)

// errNoTurn is the failure of an attempt that sent nothing because of the rate limit. Temporal
// retries it.
var errNoTurn = benign("more urgent messages use up the rate limit", RateLimited, turnRetry)

// resting returns the failure of an attempt that sent nothing because all providers rest. Temporal
// retries it when the rest ends. Earlier retries would only load Temporal and the database. attempt
// counts from 1.
func resting(err error, attempt int32) error {
	delay := turnRetry
	rest, ok := errors.AsType[*notification.RestError](err)
	switch {
	case ok && rest.Alone:
		delay = jittered(min(turnRetry<<min(attempt-1, 6), restRetryMost), rest.For) // many messages may wait for one destination
	case ok:
		delay = min(max(delay, rest.For), restRetryMost)
	}
	return benign(notification.ErrProvidersRest.Error(), ProvidersRest, delay)
}

// SendSlots returns a worker's number of slots for a channel. A slot sends a message or waits for
// its turn. The slots get turns within slotPatience; there are at least 2, and at most `most`.
func SendSlots(rate float64, most int) int {
	if rate == 0 {
		return most
	}
	return int(min(max(2, rate*slotPatience.Seconds()), float64(most)))
}

// awaitTurn waits for the turn of one message. A stopping worker waits for none, because it may have too
// little time left to send the message.
func (a *Activities) awaitTurn(ctx context.Context, channel notification.Channel) error {
	ctx, cancel := context.WithTimeoutCause(ctx, turnPatience, errNoTurn)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			stop(errNoTurn)
		case <-ctx.Done():
		}
	}()
	_, err := a.awaitTurns(ctx, channel, 1, false)
	return err
}

// awaitTurns waits until the channel's rate limit allows messages, and returns their number: at
// least one, and at most ready. The messages are due together, so their number is limited to the
// turns of 200 ms. If ctx ends before, the error is its cause.
//
// More urgent messages come first, then single messages before a batch's messages, and then
// one message of each fairness key in turn.
func (a *Activities) awaitTurns(ctx context.Context, channel notification.Channel, ready int, batch bool) (int, error) {
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
		<-w.answered // the answer came before ctx ended
	}
	time.Sleep(time.Until(w.due)) // less than a second, and the turn is taken
	if w.err == nil {
		byChannel(ctx, channel).Timer(TurnWaitMetric).Record(time.Since(begun))
	}
	return w.granted, w.err
}

// turnRanks are the three priorities, each of a single message or of a batch.
const turnRanks = 6

// turnRank returns the rank of a message among the messages that wait for a turn; 0 comes first.
// key is Temporal's priority key: 1 to 5, or 0 for none.
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

// turnAhead returns the time ahead of now for which a rank may reserve turns. If several ranks want
// all turns, only the first rank gets turns, in every process: it may take each turn 100 ms before
// the next rank may. 100 ms are enough for the request.
func turnAhead(rank int) time.Duration {
	return time.Duration(turnRanks-rank) * 100 * time.Millisecond
}
