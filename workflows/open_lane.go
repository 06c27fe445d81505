package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// openLane is a running [NotifyChannel].
type openLane struct {
	in   ChannelInput // also the input of the next run
	open *limiter     // batches or pages
}

func newOpenLane(ctx workflow.Context, in ChannelInput) *openLane {
	size := int64(openPages)
	switch {
	case in.Bulk:
		size = openBatches
	case in.Lane.Waiting:
		size = waitingParts
	}
	l := &openLane{in: in, open: newLimiter(ctx, size)}
	releaseWaiting(ctx, l.open)
	return l
}

// part names a stretch of the lane.
func (l *openLane) part(ids notification.IDRange) notification.Part {
	return notification.Part{EventID: l.in.EventID, Lane: l.in.Lane, IDs: ids}
}

// listen receives the signal that all recipients are planned.
func (l *openLane) listen(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, allPlanned)
	workflow.Go(ctx, func(ctx workflow.Context) {
		signals.Receive(ctx, nil)
		l.in.Planned = true
	})
}

// run starts workflows for all rows.
func (l *openLane) run(ctx workflow.Context) error {
	through, err := l.handOn(ctx)
	if err = cmp.Or(err, l.open.wait(ctx)); err != nil || through {
		return err
	}
	return l.continueAsNew(ctx)
}

// handOn starts a workflow for each stretch of rows. It returns after the last row (through is
// true), or if the history has become long. An orphaned lane has had its last row, too: if its event
// runs again, the event waits for the end of this lane and starts a new one.
func (l *openLane) handOn(ctx workflow.Context) (through bool, err error) {
	for interval := l.firstLook(); ; {
		planned := l.in.Planned // before the look: if planned is true, the look sees all rows
		next, err := l.look(ctx)
		switch {
		case err != nil:
			return false, err
		case next.Last > 0 && (planned || l.takes(next)):
			interval = l.firstLook()
			err = l.start(ctx, next)
		case planned || next.Orphaned:
			return true, nil
		default:
			err = l.untilMore(ctx, interval)
			interval = min(2*interval, seldomLook)
		}
		if err != nil || l.isLong(ctx) {
			return false, err
		}
	}
}

func (l *openLane) firstLook() time.Duration {
	if l.in.Bulk {
		return batchLook
	}
	return firstLook
}

// takes reports whether to start a stretch while the event still plans. A partial batch waits until
// no batch is open, so that most batches are full.
func (l *openLane) takes(next activities.NextResult) bool {
	return !l.in.Bulk || !next.Partial || l.open.open == 0
}

// untilMore waits until all recipients are planned or the last child has ended, for at most d.
func (l *openLane) untilMore(ctx workflow.Context, d time.Duration) error {
	busy := l.open.open > 0
	_, err := workflow.AwaitWithTimeout(ctx, d, func() bool { return l.in.Planned || busy && l.open.open == 0 })
	return err
}

func (l *openLane) look(ctx workflow.Context) (activities.NextResult, error) {
	return execute[activities.NextResult](ctx, listOptions, acts.NextDeliveries, activities.NextInput{
		EventID: l.in.EventID, Lane: l.in.Lane, After: l.in.After, Bulk: l.in.Bulk, Planning: !l.in.Planned,
	})
}

// start starts the workflows of a stretch as soon as there are slots. Its only error is
// that ctx was cancelled.
func (l *openLane) start(ctx workflow.Context, next activities.NextResult) error {
	l.in.After = next.Last
	if err := workflow.Await(ctx, func() bool { return l.open.open < waitingParts }); err != nil {
		return err
	}
	if l.in.Bulk {
		return l.startBatch(ctx, next)
	}
	return l.startPage(ctx, next.IDRange)
}

func (l *openLane) startPage(ctx workflow.Context, ids notification.IDRange) error {
	l.in.Parts++
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of deliveries begun; each is a child workflow", l.in.Parts))
	options := pageOptions(l.in.event(), l.in.Lane, l.in.Parts)
	page := PageInput{Part: l.part(ids), EventType: l.in.EventType, Aggregate: l.in.Aggregate, Again: l.in.Again}
	return l.open.run(ctx, options.WorkflowID, func(ctx workflow.Context) { runPage(ctx, options, page) })
}

func (l *openLane) startBatch(ctx workflow.Context, next activities.NextResult) error {
	l.in.Parts++
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d batches of deliveries begun; each is a child workflow", l.in.Parts))
	batch := BatchInput{
		EventID: l.in.EventID, EventType: l.in.EventType, Aggregate: l.in.Aggregate, Channel: l.in.Lane.Channel,
		IDs: next.IDRange, Number: l.in.Parts, Priority: next.Priority, Policy: *next.Policy,
		Again: l.in.Again,
	}
	options := batchOptions(l.in.event(), batch)
	return l.open.run(ctx, options.WorkflowID, func(ctx workflow.Context) {
		runPart(ctx, options, DeliverBatchType, batch.part(), func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			return workflow.ExecuteChildWorkflow(ctx, DeliverBatch, batch)
		})
	})
}

// isLong reports whether the lane continues in a new run.
func (l *openLane) isLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() && (l.open.open == 0 || info.GetCurrentHistoryLength() > waitedHistory)
}

func (l *openLane) continueAsNew(ctx workflow.Context) error {
	if workflow.GetSignalChannel(ctx, allPlanned).ReceiveAsync(nil) {
		l.in.Planned = true
	}
	return workflow.NewContinueAsNewError(ctx, NotifyChannel, l.in)
}
