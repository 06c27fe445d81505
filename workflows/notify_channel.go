package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// ChannelInput is the input of [NotifyChannel]. Its event sets what names it; the
// rest is what a long lane hands to its next run.
type ChannelInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	Lane      notification.Lane
	Planned   bool  `json:",omitempty"` // all recipients are planned
	After     int64 `json:",omitempty"` // the rows up to this notification.id were handed on
	Pages     int   `json:",omitempty"` // in how many pages
	Left      bool  `json:",omitempty"` // all rows had their turn, and it looks for what is PENDING all the same
}

// allPlanned is the signal by which an event tells its lanes that no more rows
// will come. It has no argument.
const allPlanned = "all-planned"

const (
	// openPages bounds the pages of a lane that are being sent at once.
	openPages = 4
	// waitingPages bounds the pages of a lane that waits. Each has up to 500
	// deliveries. The next page is begun when one of them has ended.
	waitingPages = 400
	// waitedHistory is how long the history may become while pages wait. Past it the
	// lane waits for them and continues as new, which children do not survive.
	waitedHistory = 9_000
	// A lane that has caught up with the planning looks for new rows, at intervals
	// that double from firstLook to seldomLook.
	firstLook, seldomLook = time.Second, 10 * time.Second
)

// NotifyChannel makes the deliveries of a large event over one channel: those that
// are to be sent at once, or those that wait. It works through the stored rows
// while the event still plans, a few page workflows at a time, so that a channel
// whose provider is down does not delay the others. It ends when the event has
// signalled that all recipients are planned, and its last page has ended.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := &openLane{in: in, open: newLimiter(ctx, openPages)}
	if in.Lane.Waiting {
		l.open = newLimiter(ctx, waitingPages)
	}
	l.listen(ctx)
	for {
		through, err := l.handOn(ctx)
		if waitErr := l.open.wait(ctx); err == nil {
			err = waitErr
		}
		switch {
		case err != nil:
			return err
		case !through:
			return l.continueAsNew(ctx)
		case l.in.Left:
			return nil
		}
		l.in.Left, l.in.After = true, 0 // a planning that timed out may have stored rows late, with ids below the last one read
	}
}

// openLane is a running [NotifyChannel].
type openLane struct {
	in   ChannelInput // as the next run would have it
	open *limiter
}

// listen receives the signal that all recipients are planned.
func (l *openLane) listen(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, allPlanned)
	workflow.Go(ctx, func(ctx workflow.Context) {
		signals.Receive(ctx, nil)
		l.in.Planned = true
	})
}

// handOn starts a page workflow for each stretch of rows. It returns when there
// are no more (through), or when the history has become long.
func (l *openLane) handOn(ctx workflow.Context) (through bool, err error) {
	for interval := firstLook; ; {
		planned := l.in.Planned // before the look, which then sees all rows
		next, err := l.look(ctx)
		switch {
		case err != nil:
			return false, err
		case next.Last > 0:
			interval = firstLook
			if err := l.startPage(ctx, next); err != nil {
				return false, err
			}
		case planned:
			return true, nil
		default:
			if _, err := workflow.AwaitWithTimeout(ctx, interval, func() bool { return l.in.Planned }); err != nil {
				return false, err
			}
			interval = min(2*interval, seldomLook)
		}
		if l.long(ctx) {
			return false, nil
		}
	}
}

// look finds the next rows of the lane.
func (l *openLane) look(ctx workflow.Context) (notification.IDRange, error) {
	in := activities.NextInput{EventID: l.in.EventID, Lane: l.in.Lane, After: l.in.After, Left: l.in.Left}
	return execute[notification.IDRange](ctx, listOptions, acts.NextDeliveries, in)
}

// startPage starts the workflow of the next page as soon as a slot is free. Its
// only error is that ctx was cancelled.
func (l *openLane) startPage(ctx workflow.Context, ids notification.IDRange) error {
	l.in.After, l.in.Pages = ids.Last, l.in.Pages+1
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of deliveries begun; each is a child workflow", l.in.Pages))
	options := pageOptions(l.in.EventID, l.in.Lane, l.in.Pages)
	page := PageInput{
		EventID: l.in.EventID, EventType: l.in.EventType, Aggregate: l.in.Aggregate, IDs: ids, Channel: l.in.Lane.Channel, Waiting: l.in.Lane.Waiting, Left: l.in.Left,
	}
	return l.open.run(ctx, func(ctx workflow.Context) {
		runPart(ctx, options, NotifyPageType, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			return workflow.ExecuteChildWorkflow(ctx, NotifyPage, page)
		})
	})
}

// long says that the lane should go on in a new run.
func (l *openLane) long(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() && (!l.in.Lane.Waiting || l.open.open == 0 || info.GetCurrentHistoryLength() > waitedHistory)
}

func (l *openLane) continueAsNew(ctx workflow.Context) error {
	if workflow.GetSignalChannel(ctx, allPlanned).ReceiveAsync(nil) {
		l.in.Planned = true
	}
	return workflow.NewContinueAsNewError(ctx, NotifyChannel, l.in)
}
