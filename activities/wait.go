package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/limit"
	"herald/internal/notification"
)

const (
	// tokenPatience is the time that a send waits for its token. Then it gives its slot back to
	// more urgent messages.
	tokenPatience = 5 * time.Second
	// slotPatience is the time that a worker's last slot waits for its token if no other process
	// takes tokens. It is less than tokenPatience.
	slotPatience = 2 * time.Second
	// restPatience is the time that a send waits for a provider while the circuits of all are open.
	// Then it gives its slot back, too. It calls again every restLook.
	restPatience = 3 * time.Second
	restLook     = 250 * time.Millisecond
	// tokenRetry is the time until the next attempt of a send that got no token.
	tokenRetry = time.Second
	// restRetryMost limits the time until the next attempt of a send that found all circuits open,
	// because an operator may close one.
	restRetryMost = time.Minute
)

// errNoToken is the failure of an attempt that sent nothing because of the rate limit. Temporal
// retries it.
var errNoToken = benign("more urgent messages use up the rate limit", RateLimited, tokenRetry)

// paused returns the failure of attempts at one message whose sender is paused; nil: the sender is not. Ask
// before the message takes a token, which a mandatory message may need. Temporal retries it at the latest when
// the message, or an item of the digest, expires.
func (a *Activities) paused(channel notification.Channel, begun ...notification.Attempt) error {
	sender, wait := a.Circuits.Paused(channel, begun[0].Message)
	if wait == 0 {
		return nil
	}
	wait = jittered(0, wait)
	for _, attempt := range begun {
		if by := attempt.Message.SendBy; !by.IsZero() {
			wait = min(wait, max(time.Until(by), expiredRetry))
		}
	}
	return benign(sender.Waits(), SenderPaused, wait)
}

// backOffFailure returns the failure of an attempt that sent nothing because all circuits were open.
// Temporal retries it when a provider may be asked again. Earlier retries would only load Temporal and the database. attempt
// counts from 1.
func backOffFailure(err error, attempt int32) error {
	delay := tokenRetry
	rest, ok := errors.AsType[*notification.BackOffError](err)
	switch {
	case ok && rest.Alone:
		delay = jittered(min(tokenRetry<<min(attempt-1, 6), restRetryMost), rest.For) // many messages may wait for one destination
	case ok:
		delay = min(max(delay, rest.For), restRetryMost)
	}
	return benign(notification.ErrBackOff.Error(), ProvidersRest, delay)
}

// SendSlots returns a worker's number of slots for a channel. A slot sends a message or waits for
// its token. The slots get tokens within slotPatience; there are at least 2, and at most `most`.
func SendSlots(rate float64, most int) int {
	if rate == 0 {
		return most
	}
	return int(min(max(2, rate*slotPatience.Seconds()), float64(most)))
}

// awaitToken waits for the token of one message. A stopping worker waits for none, because it may have too
// little time left to send the message.
func (a *Activities) awaitToken(ctx context.Context, channel notification.Channel) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tokenPatience, errNoToken)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			stop(errNoToken)
		case <-ctx.Done():
		}
	}()
	_, err := a.awaitTokens(ctx, channel, 1, false)
	return err
}

// awaitTokens waits until the channel's rate limit allows messages, and returns their number: at
// least one, and at most ready. If ctx ends before, the error is its cause.
func (a *Activities) awaitTokens(ctx context.Context, channel notification.Channel, ready int, batch bool) (int, error) {
	begun, priority := time.Now(), activity.GetInfo(ctx).Priority
	w := limit.Waiter{Rank: limit.Rank(priority.PriorityKey, batch), Key: priority.FairnessKey, Most: ready}
	granted, err := a.Pace.Wait(ctx, channel, w)
	if err == nil && a.Pace.Rate(channel) > 0 {
		byChannel(ctx, channel).Timer(TurnWaitMetric).Record(time.Since(begun))
	}
	return granted, err
}
