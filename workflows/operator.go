package workflows

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pause is a wait that an operator can cut short or move.
type pause struct {
	until    time.Time // zero: no wait at all
	why      string    // until when and for what, for people
	hastened bool      // it was cut short already
}

// rescheduled is the pause that the signal Reschedule asks for.
func rescheduled(until time.Time) pause {
	return pause{until: until, why: until.UTC().Format(time.RFC3339) + ": rescheduled by an operator"}
}

// run waits until the pause ends, until told to send now, or until cancelled. A
// reschedule puts another time in its place; one that is no time is ignored.
func (p pause) run(ctx workflow.Context) (waited, hastened bool, err error) {
	for !p.until.IsZero() && workflow.Now(ctx).Before(p.until) && err == nil && !p.hastened {
		waited = true
		workflow.SetCurrentDetails(ctx, "waiting until "+p.why)
		timer, stop := workflow.WithCancel(ctx)
		summary := workflow.TimerOptions{Summary: "send after " + p.until.Format(time.RFC3339)}
		workflow.NewSelector(ctx).
			AddFuture(workflow.NewTimerWithOptions(timer, p.until.Sub(workflow.Now(ctx)), summary), func(f workflow.Future) {
				err = f.Get(ctx, nil)
			}).
			AddReceive(workflow.GetSignalChannel(ctx, SendNow), func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(ctx, nil)
				p.hastened = true
			}).
			AddReceive(workflow.GetSignalChannel(ctx, Reschedule), func(c workflow.ReceiveChannel, _ bool) {
				if until, ok := receiveTime(c); ok {
					p = rescheduled(until)
				}
			}).
			Select(ctx)
		stop()
	}
	return waited, p.hastened, err
}

// receiveTime takes a time from a signal; ok is false where it is none.
func receiveTime(c workflow.ReceiveChannel) (t time.Time, ok bool) {
	ok = c.ReceiveAsync(&t) && !t.IsZero() // Receive would wait for another signal instead
	return t, ok
}

// attempts runs an activity that Temporal repeats until it ends. Where it fails
// and waits for its next attempt, or begins to, an operator may send now or
// reschedule: the activity then ends, and the pause to make before it is run
// anew is returned. An attempt that is under way comes to its end first, and
// what it brought stands; the pause beside it is for one that did nothing.
func attempts(ctx workflow.Context, options workflow.ActivityOptions, activity, input, result any) (*pause, error) {
	attempt, stop := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer stop()
	var interrupted *pause
	var err error
	ended := false
	selector := workflow.NewSelector(ctx).
		AddFuture(workflow.ExecuteActivity(attempt, activity, input), func(f workflow.Future) {
			ended, err = true, f.Get(ctx, result)
		}).
		AddReceive(workflow.GetSignalChannel(ctx, SendNow), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			interrupted = &pause{hastened: true}
			stop()
		}).
		AddReceive(workflow.GetSignalChannel(ctx, Reschedule), func(c workflow.ReceiveChannel, _ bool) {
			if until, ok := receiveTime(c); ok {
				other := rescheduled(until)
				interrupted = &other
				stop()
			}
		})
	for !ended {
		selector.Select(ctx)
	}
	if interrupted != nil && (err == nil || cutShort(err)) {
		return interrupted, nil
	}
	return nil, err
}

// cutShort says that an activity ended because it was cancelled: in its wait for
// the next attempt, or after one that would have been followed by another. Of a
// failure that is permanent the server says, too, that it was not repeated since
// it had been cancelled.
func cutShort(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	var failed *temporal.ActivityError
	var failure *temporal.ApplicationError
	permanent := errors.As(err, &failure) && failure.NonRetryable()
	return !permanent && errors.As(err, &failed) && failed.RetryState() == enums.RETRY_STATE_CANCEL_REQUESTED
}
