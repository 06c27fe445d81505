package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

var pollOptions = minuteOptions("start the workflows of pending events")

// minuteOptions is for an activity that works for a minute; then the next activity starts. If a
// heartbeat is missing, the worker died. Temporal retries failures forever.
func minuteOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 3 * time.Minute,
		HeartbeatTimeout:    activities.PollHeartbeat,
		WaitForCancellation: true, // the activity first ends its claims or follow-ups
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	}
}

// pollsPerRun keeps a run's history under 1,000 events, about two hours.
const pollsPerRun = 120

// Signals to a poller. The optional argument is the time of the order; `starter` passes it.
const (
	PausePoller  = "pause"
	ResumePoller = "resume"
)

// PausedMemo is the memo of a paused poller: the time of the pause. A memo can be read without a
// worker.
const PausedMemo = "paused_since"

// PollInput is the input of [PollOutbox].
type PollInput struct {
	PausedSince time.Time // zero: not paused
	Source      string
}

// PollOutbox polls a source until it is cancelled. Several pollers may run concurrently. A paused
// poller has no open activity, and claims nothing.
func PollOutbox(ctx workflow.Context, in PollInput) error {
	ctx = workflow.WithActivityOptions(ctx, pollOptions)
	p := &pollLoop{
		PollInput: in,
		pauses:    workflow.GetSignalChannel(ctx, PausePoller),
		resumes:   workflow.GetSignalChannel(ctx, ResumePoller),
	}
	for polls := 0; polls < pollsPerRun && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); {
		step := p.wait
		if !p.paused() {
			step, polls = p.poll, polls+1
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, PollOutbox, p.PollInput)
}

// pollLoop is the state of one [PollOutbox].
type pollLoop struct {
	PollInput
	pauses, resumes workflow.ReceiveChannel
}

func (p *pollLoop) paused() bool { return !p.PausedSince.IsZero() }

// poll runs one activity to its end. A pause cancels the activity.
func (p *pollLoop) poll(ctx workflow.Context) error {
	if err := p.show(ctx); err != nil {
		return err
	}
	polling, stop := workflow.WithCancel(ctx)
	defer stop()
	result := workflow.ExecuteActivity(polling, acts.PollOutbox, activities.PollOutboxInput{Source: p.Source})
	for !result.IsReady() {
		p.selector(ctx).AddFuture(result, func(workflow.Future) {}).Select(ctx)
		if p.obey(ctx); p.paused() {
			workflow.SetCurrentDetails(ctx, "pausing: the poller still ends the claims that it has begun")
			stop()
		}
	}
	err := result.Get(ctx, nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case polling.Err() != nil: // a pause cancelled the activity, so any error is expected
		return nil
	default:
		return err
	}
}

// wait waits for a signal.
func (p *pollLoop) wait(ctx workflow.Context) error {
	if err := p.show(ctx); err != nil {
		return err
	}
	p.selector(ctx).AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).Select(ctx)
	p.obey(ctx)
	return ctx.Err()
}

// selector becomes ready when there is a signal for obey.
func (p *pollLoop) selector(ctx workflow.Context) workflow.Selector {
	leave := func(workflow.ReceiveChannel, bool) {} // obey receives the signal
	return workflow.NewSelector(ctx).AddReceive(p.pauses, leave).AddReceive(p.resumes, leave)
}

// show sets the memo and the current details for operators.
func (p *pollLoop) show(ctx workflow.Context) error {
	since, details := any(nil), "polling"
	if p.paused() {
		since, details = p.PausedSince, "paused by an operator since "+notification.InstantText(p.PausedSince)
	}
	workflow.SetCurrentDetails(ctx, details)
	if _, shown := workflow.GetInfo(ctx).Memo.GetFields()[PausedMemo]; shown == p.paused() {
		return nil // a poller that is never paused writes no memo
	}
	return workflow.UpsertMemo(ctx, map[string]any{PausedMemo: since})
}

// obey applies the last signal. While no worker runs, several signals may arrive. Pauses and
// resumes then have no order, so their times decide; without times, the more frequent signal
// decides.
func (p *pollLoop) obey(ctx workflow.Context) {
	pauses, lastPause := receiveAll(p.pauses)
	resumes, lastResume := receiveAll(p.resumes)
	pause := p.paused()
	switch {
	case !lastPause.Equal(lastResume):
		pause = lastPause.After(lastResume)
	case pauses != resumes:
		pause = pauses > resumes
	}
	if !pause {
		p.PausedSince = time.Time{}
	} else if !p.paused() {
		p.PausedSince = workflow.Now(ctx).UTC()
	}
}

// receiveAll receives all pending signals of a channel, and returns their number and their latest
// time. It ignores arguments that are not times.
func receiveAll(signals workflow.ReceiveChannel) (count int, last time.Time) {
	for {
		var argument any
		if !signals.ReceiveAsync(&argument) {
			return count, last
		}
		count++
		text, _ := argument.(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(last) {
			last = at
		}
	}
}
