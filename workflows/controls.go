package workflows

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// wait is a time before which nothing is sent. An operator may cut it short or
// put another in its place.
type wait struct {
	until    time.Time // zero: there is nothing to wait for
	why      string    // until when and for what, in words for people
	quiet    bool      // the database says that it is quiet until then
	hastened bool      // an operator wants the message sent now, quiet hours or not
}

// untilNext is the wait for the attempt after one that failed for now.
func untilNext(at time.Time) wait {
	return wait{until: at, why: notification.InstantText(at) + ": the attempt before failed, and the next one is due then"}
}

// rescheduled is the wait that the signal Reschedule asks for.
func rescheduled(until time.Time) wait {
	return wait{until: until, why: notification.InstantText(until) + ": rescheduled by an operator"}
}

// addControls adds the operators' signals to a selector. Each is handed to obey as
// the wait that it asks for. A Reschedule whose argument is no time is ignored.
func addControls(ctx workflow.Context, selector workflow.Selector, obey func(ordered wait)) workflow.Selector {
	return selector.
		AddReceive(workflow.GetSignalChannel(ctx, SendNow), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			obey(wait{hastened: true})
		}).
		AddReceive(workflow.GetSignalChannel(ctx, Reschedule), func(c workflow.ReceiveChannel, _ bool) {
			var until time.Time
			if c.ReceiveAsync(&until) && !until.IsZero() { // Receive would block until the next signal
				obey(rescheduled(until))
			}
		})
}

// run waits until the time has come or an operator hastens it. It reports whether quiet
// hours are not to be asked then: an operator has hastened the message, or they are over by
// Temporal's clock, while the database's is slow. Its only error is that ctx was cancelled.
func (w wait) run(ctx workflow.Context) (skipQuiet bool, err error) {
	skipQuiet = w.quiet
	for !w.until.IsZero() && workflow.Now(ctx).Before(w.until) && err == nil {
		skipQuiet = false
		workflow.SetCurrentDetails(ctx, "waiting until "+w.why)
		timer, stop := workflow.WithCancel(ctx)
		summary := workflow.TimerOptions{Summary: "send after " + notification.InstantText(w.until)}
		selector := workflow.NewSelector(ctx).
			AddFuture(workflow.NewTimerWithOptions(timer, w.until.Sub(workflow.Now(ctx)), summary), func(f workflow.Future) {
				err = f.Get(ctx, nil)
			})
		addControls(ctx, selector, func(ordered wait) { w = ordered }).Select(ctx)
		stop()
	}
	return skipQuiet || w.hastened, err
}

// attempts runs an activity that Temporal repeats until it ends. An operator who
// hastens or reschedules the message ends the activity: at once while it waits for
// its next attempt, otherwise after the attempt that is under way. The wait that
// the operator ordered is returned, for the case that the activity sent nothing.
func attempts(ctx workflow.Context, options workflow.ActivityOptions, activity, input, result any) (ordered *wait, err error) {
	attempt, stop := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer stop()
	ordered, err = heed(ctx, workflow.ExecuteActivity(attempt, activity, input), stop, result)
	if ordered != nil && (err == nil || cutShort(err)) {
		return ordered, nil
	}
	return nil, err
}

// heed waits for the result of an activity. It returns the last wait that an operator
// ordered meanwhile, each of which it answers with stop.
func heed(ctx workflow.Context, activity workflow.Future, stop func(), result any) (ordered *wait, err error) {
	ended := false
	selector := workflow.NewSelector(ctx).AddFuture(activity, func(f workflow.Future) {
		ended, err = true, f.Get(ctx, result)
	})
	addControls(ctx, selector, func(w wait) {
		ordered = &w
		stop()
	})
	for !ended {
		selector.Select(ctx)
	}
	return ordered, err
}

// cutShort says that an activity ended because it was cancelled: in its wait for
// the next attempt, or after one that would have been followed by another. The
// server reports the same retry state for a permanent failure of a cancelled
// activity, which counts as a failure.
func cutShort(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	var failed *temporal.ActivityError
	return !permanent(err) && errors.As(err, &failed) && failed.RetryState() == enums.RETRY_STATE_CANCEL_REQUESTED
}

// permanent says that an activity failed and is not to be tried again.
func permanent(err error) bool {
	var failure *temporal.ApplicationError
	return errors.As(err, &failure) && failure.NonRetryable()
}
