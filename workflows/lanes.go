package workflows

import (
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// lanes are the [NotifyChannel] workflows of an event.
type lanes struct {
	bulk    bool // deliveries without a wait go in batches
	begun   []notification.Lane
	stopped []stoppedLane // lanes that an operator cancelled or terminated in Temporal
	open    *limiter
	planned bool // all recipients are planned
}

// stoppedLane is a lane that an operator stopped.
type stoppedLane struct {
	notification.Part
	reason notification.EndReason
}

func newLanes(ctx workflow.Context) *lanes { return &lanes{open: newLimiter(ctx, 0)} }

// start starts a lane, unless it was started before.
func (l *lanes) start(ctx workflow.Context, event batchEvent, lane notification.Lane) {
	if slices.Contains(l.begun, lane) {
		return
	}
	l.begun = append(l.begun, lane)
	part := notification.Part{EventID: event.id, Lane: lane}
	options := laneOptions(event, lane)
	l.open.start(ctx, func(ctx workflow.Context) {
		err := runPart(ctx, options, NotifyChannelType, part, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			in := ChannelInput{
				EventID: event.id, EventType: event.eventType, Aggregate: event.aggregate, Lane: lane, Bulk: l.bulk && !lane.Waiting,
				Again: event.again, Planned: l.planned,
			}
			child := workflow.ExecuteChildWorkflow(ctx, NotifyChannel, in)
			if !in.Planned {
				workflow.Go(ctx, func(ctx workflow.Context) { l.tell(ctx, child, options.WorkflowID) })
			}
			return child
		})
		switch {
		case temporal.IsCanceledError(err):
			l.stopped = append(l.stopped, stoppedLane{part, notification.CancelledInTemporal})
		case isTerminated(err):
			l.stopped = append(l.stopped, stoppedLane{part, notification.TerminatedInTemporal})
		}
	})
}

// tell signals a lane when all recipients are planned.
func (l *lanes) tell(ctx workflow.Context, child workflow.ChildWorkflowFuture, id string) {
	if err := workflow.Await(ctx, func() bool { return l.planned }); err == nil {
		signalChild(ctx, child, id, allPlanned)
	}
}

// wait waits until all lanes have ended. If an operator stopped a lane, wait then cancels the
// deliveries that the event planned for the lane afterwards. If ctx was cancelled, the event's end
// cancels them.
func (l *lanes) wait(ctx workflow.Context) error {
	l.planned = true
	err := l.open.wait(ctx)
	for _, lane := range l.stopped {
		if err == nil {
			err = cancelUnsent(ctx, lane.Part, lane.reason)
		}
	}
	return err
}
