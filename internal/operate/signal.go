package operate

import (
	"context"
	"fmt"
	"time"

	"herald/internal/attempt"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// signal sets the time of a waiting delivery, and wakes its workflow.
type signal struct {
	name     string
	argument any
	until    time.Time // zero: now
	now      time.Time // the time of the order
	told     Code      // of a delivery that got the signal
}

// signalling returns a verb that sets the time of deliveries. It stores the time in the row before it
// wakes the workflow, so a workflow that the sweep starts again obeys it, too.
func signalling(verb string, s signal) Verb {
	return deliveryVerb(verb, func(c deliveryChange, ctx context.Context) (plan, error) { return c.planSignal(ctx, s) })
}

// planSignal refuses a delivery whose row is no longer PENDING: its workflow may be about to end,
// and would still take the signal.
func (c deliveryChange) planSignal(ctx context.Context, s signal) (plan, error) {
	status, err := c.workflowStatus(ctx, c.id)
	if err != nil {
		return plan{}, err
	}
	if status != running || c.state.Status != notification.Pending {
		batch, found, err := c.inBatch(ctx)
		if err != nil || !found {
			return refusal(c.unchanged()), err
		}
		return refusal(batch), nil
	}
	told := c.is(s.told)
	if told.Due = s.until; !s.until.IsZero() {
		check, err := attempt.On(c.DB).QuietCheck(ctx, c.id)
		if err != nil {
			return plan{}, err
		}
		told.Quiet = check.Ahead(s.until, s.now)
	}
	expected := told
	expected.Code, expected.Signal = WouldBeSignalled, s.name
	return plan{expected, func(ctx context.Context) (Outcome, error) {
		if err := attempt.On(c.DB).Reschedule(ctx, c.id, s.until); err != nil {
			return Outcome{}, err
		}
		err := c.temporal().SignalWorkflow(ctx, c.id, "", s.name, s.argument)
		if launch.IsNotFound(err) { // the workflow has ended since the plan
			c, err := c.delivery(ctx, c.id)
			return c.unchanged(), err
		}
		if err != nil {
			return Outcome{}, fmt.Errorf("signal %s: %w", c.id, err)
		}
		return told, nil
	}}, nil
}

// SendNow sends waiting deliveries at once. A delivery that does not wait ignores it.
func SendNow() Verb { return signalling("send", signal{name: workflows.SendNow, told: SendingNow}) }

// maxReschedule is the longest time for which an operator can make a delivery wait.
const maxReschedule = 365 * 24 * time.Hour

// Reschedule makes waiting deliveries wait until another time, within a year from now. The outcome
// warns if quiet hours apply at that time. They are checked again when the time comes.
func Reschedule(until, now time.Time) (Verb, error) {
	switch {
	case !until.After(now):
		return Verb{}, fmt.Errorf("%s is past: to send the delivery at once, use send-now", notification.InstantText(until))
	case until.Sub(now) > maxReschedule:
		return Verb{}, fmt.Errorf("%s is more than a year ahead: name an earlier time", notification.InstantText(until))
	}
	return signalling("reschedule", signal{name: workflows.Reschedule, argument: until, until: until, now: now, told: Rescheduled}), nil
}
