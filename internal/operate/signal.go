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
	until    time.Time                                                         // zero: now
	told     Outcome                                                           // of a delivery that got the signal
	warn     func(o *Operator, ctx context.Context, id string) (string, error) // a warning to add to the outcome; nil: none
}

// signalling returns a verb that sets the time of deliveries. It stores the time in the row before it
// wakes the workflow, so a workflow that the sweep starts again obeys it, too.
func signalling(verb string, s signal) Verb {
	return Verb{Name: verb, Noun: Deliveries, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		return o.planSignal(ctx, id, s)
	}}
}

// planSignal refuses a delivery whose row is no longer PENDING: its workflow may be about to end,
// and would still take the signal.
func (o *Operator) planSignal(ctx context.Context, id string, s signal) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	status, err := o.workflowStatus(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if status != running || state.Status != notification.Pending {
		batch, err := o.batchOf(ctx, state)
		if err != nil || batch == "" {
			return refusal(unchanged(id, state)), err
		}
		return refusal(inBatch(id, batch)), nil
	}
	warning := ""
	if s.warn != nil {
		if warning, err = s.warn(o, ctx, id); err != nil {
			return plan{}, err
		}
	}
	told := Outcome{ID: id, Done: true, Result: s.told.Result, Detail: s.told.Detail + warning}
	expected := Outcome{ID: id, Done: true, Result: "would be signalled", Detail: s.name + warning}
	return plan{expected, func(ctx context.Context) (Outcome, error) {
		if err := attempt.On(o.DB).Reschedule(ctx, id, s.until); err != nil {
			return Outcome{}, err
		}
		err := o.temporal().SignalWorkflow(ctx, id, "", s.name, s.argument)
		if launch.IsNotFound(err) { // the workflow has ended since the plan
			state, err := o.delivery(ctx, id)
			return unchanged(id, state), err
		}
		if err != nil {
			return Outcome{}, fmt.Errorf("signal %s: %w", id, err)
		}
		return told, nil
	}}, nil
}

// SendNow sends waiting deliveries at once. A delivery that does not wait ignores it.
func SendNow() Verb {
	return signalling("send", signal{name: workflows.SendNow, told: Outcome{Result: "sending now"}})
}

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
	return signalling("reschedule", signal{
		name: workflows.Reschedule, argument: until, until: until,
		told: Outcome{Result: "rescheduled", Detail: "waits until " + clock(&until)},
		warn: func(o *Operator, ctx context.Context, id string) (string, error) {
			check, err := attempt.On(o.DB).QuietCheck(ctx, id)
			if err != nil {
				return "", err
			}
			return check.Ahead(until, now), nil
		},
	}), nil
}
