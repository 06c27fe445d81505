package workflows

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// wait is the time until which nothing is sent.
type wait struct {
	until time.Time
	why   string // the time and the reason, as text
}

// order is a signal of an operator: another time to send the message.
type order struct {
	until time.Time // zero: now, even in quiet hours
}

// wait returns the wait that the order asks for.
func (o order) wait() wait {
	return wait{until: o.until, why: notification.InstantText(o.until) + ": " + notification.WaitOperator}
}

// unlessEnded returns the order if the delivery has not ended.
func (o *order) unlessEnded(result activities.SendResult) *order {
	if result.Status == "" || result.Status == notification.Pending {
		return o
	}
	return nil
}

// pause is the minimum time between two attempts that the database delays. Its clock may be behind
// Temporal's, so the time that it names may be past already. The time then doubles with each attempt.
type pause time.Duration

const minPause, maxPause = pause(time.Second), pause(time.Minute)

// before returns the wait that the database asks for, with the minimum time.
func (p *pause) before(ctx workflow.Context, asked wait) wait {
	if soonest := workflow.Now(ctx).Add(time.Duration(*p)); asked.until.Before(soonest) {
		asked.until, *p = soonest, min(2**p, maxPause)
	}
	return asked
}

// addTimer adds a timer to a selector. If ctx was cancelled, ended gets an error. The caller stops
// the timer after the wait.
func addTimer(ctx workflow.Context, selector workflow.Selector, until time.Time, summary string, ended func(err error)) (stop func()) {
	timer, stop := workflow.WithCancel(ctx)
	left := max(0, until.Sub(workflow.Now(ctx)))
	selector.AddFuture(workflow.NewTimerWithOptions(timer, left, workflow.TimerOptions{Summary: summary}), func(f workflow.Future) {
		ended(f.Get(ctx, nil))
	})
	return stop
}

// addControls adds the operators' signals to a selector. Each signal calls obey with its order. A
// Reschedule without a valid time is ignored.
func addControls(ctx workflow.Context, selector workflow.Selector, obey func(ordered order)) workflow.Selector {
	return selector.
		AddReceive(workflow.GetSignalChannel(ctx, SendNow), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			obey(order{})
		}).
		AddReceive(workflow.GetSignalChannel(ctx, Reschedule), func(c workflow.ReceiveChannel, _ bool) {
			var until time.Time
			if c.ReceiveAsync(&until) && !until.IsZero() { // Receive would block until the next signal
				obey(order{until: until})
			}
		})
}

// pendingOrder returns the last pending order of an operator; nil: none.
func pendingOrder(ctx workflow.Context) (ordered *order) {
	selector := addControls(ctx, workflow.NewSelector(ctx), func(o order) { ordered = &o })
	for selector.HasPending() {
		selector.Select(ctx)
	}
	return ordered
}

// run waits until the time, or until an operator orders another time. The only error is that ctx was
// cancelled.
func (w wait) run(ctx workflow.Context) (ordered *order, err error) {
	for workflow.Now(ctx).Before(w.until) && ordered == nil && err == nil {
		workflow.SetCurrentDetails(ctx, "waiting until "+w.why)
		selector := workflow.NewSelector(ctx)
		stop := addTimer(ctx, selector, w.until, "send after "+notification.InstantText(w.until), func(ended error) { err = ended })
		addControls(ctx, selector, func(o order) { ordered = &o }).Select(ctx)
		stop()
	}
	return ordered, err
}

// attempts runs an activity that Temporal repeats until it ends. If an operator hastens or
// reschedules the message, the activity ends after the current attempt, or at once between two
// attempts. attempts then returns the operator's order. The caller needs it if the activity sent
// nothing.
func attempts(ctx workflow.Context, options workflow.ActivityOptions, activity, input, result any) (ordered *order, err error) {
	attempt, stop := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer stop()
	ordered, err = heed(ctx, workflow.ExecuteActivity(attempt, activity, input), stop, result)
	if ordered != nil && (err == nil || cutShort(err)) {
		return ordered, nil
	}
	return nil, err
}

// heed waits for the result of an activity. It calls stop for each order of an operator
// meanwhile, and returns the last order.
func heed(ctx workflow.Context, activity workflow.Future, stop func(), result any) (ordered *order, err error) {
	ended := false
	selector := workflow.NewSelector(ctx).AddFuture(activity, func(f workflow.Future) {
		ended, err = true, f.Get(ctx, result)
	})
	addControls(ctx, selector, func(o order) {
		ordered = &o
		stop()
	})
	for !ended {
		selector.Select(ctx)
	}
	return ordered, err
}

// cutShort reports whether an activity ended because it was cancelled: between two attempts, or
// after an attempt that Temporal would otherwise retry. If a cancelled activity fails permanently,
// the retry state is the same, but cutShort returns false.
func cutShort(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	var failed *temporal.ActivityError
	return !activities.IsPermanent(err) && errors.As(err, &failed) && failed.RetryState() == enums.RETRY_STATE_CANCEL_REQUESTED
}
