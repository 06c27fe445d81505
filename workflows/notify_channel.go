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

	Size activities.LaneSize `json:",omitempty"` // whether its deliveries go in batches, once that is known
}

// allPlanned is the signal by which an event tells its lanes that no more rows
// will come. It has no argument.
const allPlanned = "all-planned"

const (
	// openPages bounds the pages of a lane that are being sent at once.
	openPages = 4
	// openBatches bounds the batches of a lane that have not ended. Most of them wait: for
	// a worker, or for the second attempts at what failed for now.
	openBatches = 100
	// waitingPages bounds the pages of a lane that waits. Each has up to 500
	// deliveries. The next page is begun when one of them has ended.
	waitingPages = 400
	// waitedHistory is how long the history may become while pages or batches wait. Past it
	// the lane waits for them and continues as new, since Temporal cancels the children of a
	// run that does so. Only rows that it has not handed on are delayed by that, as long as
	// the retries of its open batches take; it happens once in several hundred batches.
	waitedHistory = 9_000
	// A lane of which it is not known whether it goes in batches looks again after
	// sizeLook, so many times. Then it begins with what it has, as a small one.
	sizeLook, sizeLooks = 500 * time.Millisecond, 6
	// A lane that has caught up with the planning looks for new rows, at intervals
	// that double from firstLook to seldomLook. One that goes in batches begins with
	// batchLook, and takes less than a whole batch past firstLook.
	firstLook, seldomLook, batchLook = time.Second, 10 * time.Second, 250 * time.Millisecond
)

// NotifyChannel makes the deliveries of a large event over one channel: those that
// are to be sent at once, or those that wait. It works through the stored rows
// while the event still plans, a few page workflows at a time, so that a channel
// whose provider is down does not delay the others. Where many are to be sent at once,
// they go in batches instead. It ends when the event has
// signalled that all recipients are planned, and its last page has ended.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := newOpenLane(ctx, in)
	l.listen(ctx)
	for {
		through, err := l.handOn(ctx)
		if waitErr := l.wait(ctx); err == nil {
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
	in             ChannelInput // as the next run would have it
	waits          int          // for its size to be known
	pages, batches *limiter
}

func newOpenLane(ctx workflow.Context, in ChannelInput) *openLane {
	pages := int64(openPages)
	if in.Lane.Waiting {
		pages = waitingPages
	}
	return &openLane{in: in, pages: newLimiter(ctx, pages), batches: newLimiter(ctx, openBatches)}
}

// listen receives the signal that all recipients are planned.
func (l *openLane) listen(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, allPlanned)
	workflow.Go(ctx, func(ctx workflow.Context) {
		signals.Receive(ctx, nil)
		l.in.Planned = true
	})
}

// wait waits until all pages and batches have ended. Its only error is that ctx was
// cancelled.
func (l *openLane) wait(ctx workflow.Context) error {
	_ = l.pages.wait(ctx) // the same error as that of the next
	return l.batches.wait(ctx)
}

// handOn starts a workflow for each stretch of rows. It returns when there
// are no more (through), or when the history has become long.
func (l *openLane) handOn(ctx workflow.Context) (through bool, err error) {
	for interval := firstLook; ; {
		planned := l.in.Planned // before the look, which then sees all rows
		next, err := l.look(ctx, planned || interval > firstLook)
		switch {
		case err != nil:
			return false, err
		case next.Size == activities.LaneOpen && !planned && (l.in.Planned || l.waits < sizeLooks):
			l.waits++
			err = l.untilPlanned(ctx, sizeLook)
		case next.Last > 0:
			interval = l.firstLook()
			err = l.start(ctx, next)
		case planned:
			return true, nil
		default:
			err = l.untilPlanned(ctx, interval)
			interval = min(2*interval, seldomLook)
		}
		if err != nil || l.long(ctx) {
			return false, err
		}
	}
}

func (l *openLane) firstLook() time.Duration {
	if l.in.Size == activities.LaneBulk {
		return batchLook
	}
	return firstLook
}

// untilPlanned waits for the word that all recipients are planned, but no longer than d.
func (l *openLane) untilPlanned(ctx workflow.Context, d time.Duration) error {
	_, err := workflow.AwaitWithTimeout(ctx, d, func() bool { return l.in.Planned })
	return err
}

// look finds the next rows of the lane, and learns whether they go in batches. fewer says
// that it takes also less than a whole batch.
func (l *openLane) look(ctx workflow.Context, fewer bool) (activities.NextResult, error) {
	next, err := execute[activities.NextResult](ctx, listOptions, acts.NextDeliveries, activities.NextInput{
		EventID: l.in.EventID, Lane: l.in.Lane, After: l.in.After, Left: l.in.Left, Planned: l.in.Planned, Fewer: fewer, Size: l.in.Size,
	})
	if err == nil && next.Size != activities.LaneOpen {
		l.in.Size = next.Size
	}
	return next, err
}

// start starts the workflow of the next page or batch as soon as a slot is free. Its
// only error is that ctx was cancelled.
func (l *openLane) start(ctx workflow.Context, next activities.NextResult) error {
	l.in.After, l.in.Pages = next.Last, l.in.Pages+1
	if l.in.Size == activities.LaneBulk {
		return l.startBatch(ctx, next)
	}
	return l.startPage(ctx, next.IDRange)
}

func (l *openLane) startPage(ctx workflow.Context, ids notification.IDRange) error {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of deliveries begun; each is a child workflow", l.in.Pages))
	options := pageOptions(l.in.EventID, l.in.Lane, l.in.Pages)
	page := PageInput{
		EventID: l.in.EventID, EventType: l.in.EventType, Aggregate: l.in.Aggregate, IDs: ids, Channel: l.in.Lane.Channel, Waiting: l.in.Lane.Waiting, Left: l.in.Left,
	}
	return l.pages.run(ctx, func(ctx workflow.Context) {
		runPart(ctx, options, NotifyPageType, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			return workflow.ExecuteChildWorkflow(ctx, NotifyPage, page)
		})
	})
}

func (l *openLane) startBatch(ctx workflow.Context, next activities.NextResult) error {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d batches of deliveries begun; each is a child workflow", l.in.Pages))
	batch := BatchInput{
		EventID: l.in.EventID, EventType: l.in.EventType, Aggregate: l.in.Aggregate, Channel: l.in.Lane.Channel,
		IDs: next.IDRange, Number: l.in.Pages, Failed: next.Failed, Priority: next.Priority, Policy: *next.Policy,
	}
	options := batchOptions(batch)
	return l.batches.run(ctx, func(ctx workflow.Context) {
		runPart(ctx, options, DeliverBatchType, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			return workflow.ExecuteChildWorkflow(ctx, DeliverBatch, batch)
		})
	})
}

// long says that the lane should go on in a new run. One whose children wait puts that off.
func (l *openLane) long(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	waits := l.in.Lane.Waiting || l.in.Size == activities.LaneBulk
	return info.GetContinueAsNewSuggested() && (!waits || l.pages.open+l.batches.open == 0 || info.GetCurrentHistoryLength() > waitedHistory)
}

func (l *openLane) continueAsNew(ctx workflow.Context) error {
	if workflow.GetSignalChannel(ctx, allPlanned).ReceiveAsync(nil) {
		l.in.Planned = true
	}
	return workflow.NewContinueAsNewError(ctx, NotifyChannel, l.in)
}
