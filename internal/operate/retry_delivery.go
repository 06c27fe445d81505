package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"herald/internal/attempt"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/person"
)

// RetryDelivery starts a new run of deliveries that have ended. With again, it also retries sent
// deliveries, which the recipient gets twice, expired deliveries, and deliveries that another
// event cancelled or replaced. wait is the total time that an order waits for the runs to end.
func RetryDelivery(again bool, wait time.Duration) Verb {
	verb := deliveryVerb("retry", func(c deliveryChange, ctx context.Context) (plan, error) { return c.planRetry(ctx, again, wait) })
	verb.Repeats = again
	return verb
}

func (c deliveryChange) planRetry(ctx context.Context, again bool, wait time.Duration) (plan, error) {
	who := notification.RecipientKey{UserType: c.state.UserType, UserID: c.state.UserID}
	if at, err := person.On(c.DB).ErasedAt(ctx, who); err != nil || at != nil {
		erased := c.is(IsToErased)
		erased.At = at
		return refusal(erased), err
	}
	if refused := c.needsAgain(); refused.Code != 0 && !again {
		return refusal(refused), nil
	}
	status, err := c.settledStatus(ctx, c.id, c.state.Status != notification.Pending)
	if err != nil {
		return plan{}, err
	}
	if status == running {
		return refusal(c.is(IsUnderWay)), nil
	}
	if batch, found, err := c.inBatch(ctx); err != nil || found {
		return refusal(batch), err
	}
	expected := c.is(WouldBeRetried)
	if expected.Due, err = attempt.On(c.DB).OwnTime(ctx, c.id, time.Now()); err != nil {
		return plan{}, err
	}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return c.retry(ctx, expected.Due, again, wait) }}, nil
}

// needsAgain returns the outcome of a delivery that only --again retries; zero: it needs no --again.
func (c deliveryChange) needsAgain() Outcome {
	switch {
	case c.isSent():
		return c.is(WasSentOnce)
	case c.state.Withdrawn != "":
		return c.is(IsWithdrawn)
	case c.state.ExpiredAt != nil:
		expired := c.is(HasExpired)
		expired.At = c.state.ExpiredAt
		return expired
	default:
		return Outcome{}
	}
}

// planningWait is the time to watch a retried delivery that waits for its send time: its planning
// may fail at once.
const planningWait = 5 * time.Second

// retry starts the run, which waits for its own time, at; zero: it has none.
func (c deliveryChange) retry(ctx context.Context, at time.Time, again bool, wait time.Duration) (Outcome, error) {
	run, err := c.Launcher.RetryDelivery(ctx, launch.RetryInput{
		DeliveryID: c.id, Channel: c.state.Channel, EventID: c.state.EventID, EventType: c.state.EventType, Aggregate: c.state.Aggregate,
		UserType: c.state.UserType, UserID: c.state.UserID, Priority: c.state.Priority, Again: again,
	})
	if errors.Is(err, launch.ErrRunning) { // another operator was faster
		return c.is(IsUnderWay), nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("retry %s: %w", c.id, err)
	}
	started := c.is(Started)
	if started.Due = at; !at.IsZero() {
		wait = min(wait, planningWait)
	}
	if ended, _ := c.awaitEnd(ctx, wait, run); !ended {
		return started, nil
	}
	c, err = c.delivery(ctx, c.id)
	switch {
	case err != nil:
		return Outcome{}, err
	case c.isSent():
		return c.is(Sent), nil
	case c.state.Status == notification.Pending: // the workflow was terminated
		return started, nil
	default:
		return c.unchanged(), nil
	}
}
