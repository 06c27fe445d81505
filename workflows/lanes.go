package workflows

import (
	"fmt"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// lanes are the [NotifyChannel] workflows of an event.
type lanes struct {
	eventID string
	begun   []notification.Lane
	open    *limiter
	planned bool // all recipients are planned
}

func newLanes(ctx workflow.Context, eventID string) *lanes {
	return &lanes{eventID: eventID, open: newLimiter(ctx, 0)}
}

// start starts a lane, unless it was started before.
func (l *lanes) start(ctx workflow.Context, event batchEvent, lane notification.Lane) {
	if slices.Contains(l.begun, lane) {
		return
	}
	l.begun = append(l.begun, lane)
	l.open.start(ctx, func(ctx workflow.Context) {
		runPart(ctx, laneOptions(l.eventID, lane), NotifyChannelType, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			in := ChannelInput{EventID: event.id, EventType: event.eventType, Aggregate: event.aggregate, Lane: lane, Planned: l.planned}
			child := workflow.ExecuteChildWorkflow(ctx, NotifyChannel, in)
			if !in.Planned {
				workflow.Go(ctx, func(ctx workflow.Context) { l.tell(ctx, child) })
			}
			return child
		})
	})
}

// tell signals a lane when all recipients are planned.
func (l *lanes) tell(ctx workflow.Context, child workflow.ChildWorkflowFuture) {
	if err := workflow.Await(ctx, func() bool { return l.planned }); err == nil {
		_ = child.SignalChildWorkflow(ctx, allPlanned, nil).Get(ctx, nil) // an error means that the lane has ended, and does not need the signal
	}
}

// wait waits until all lanes have ended. Its only error is that ctx was cancelled.
func (l *lanes) wait(ctx workflow.Context) error {
	l.planned = true
	return l.open.wait(ctx)
}

// runPart runs the workflow of a part of an event's deliveries. If a workflow of
// another kind has its id, the deliveries stay PENDING, and the event's outcome is
// INCOMPLETE.
func runPart(ctx workflow.Context, options workflow.ChildWorkflowOptions, workflowType string, start func(ctx workflow.Context) workflow.ChildWorkflowFuture) {
	if stranger := runChild(ctx, options, workflowType, start); stranger != "" {
		workflow.GetLogger(ctx).Error("a part of the deliveries cannot be started: the id is taken", "workflow_id", options.WorkflowID, "by", stranger)
	}
}

const allowDuplicate = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE

// laneOptions let a lane run again when its event does. Nothing is delivered twice,
// since rows and the deliveries' own workflow IDs prevent it.
func laneOptions(eventID string, lane notification.Lane) workflow.ChildWorkflowOptions {
	return partOptions(LaneID(eventID, lane.Channel), fmt.Sprintf("all deliveries by %s", lane.Channel), lane.Waiting)
}

// pageOptions let a page run again, as laneOptions do.
func pageOptions(eventID string, lane notification.Lane, page int) workflow.ChildWorkflowOptions {
	return partOptions(fmt.Sprintf("%s-page-%s-%d", eventID, lane.Channel, page), fmt.Sprintf("page %d of the deliveries by %s", page, lane.Channel), lane.Waiting)
}

func partOptions(id, summary string, waiting bool) workflow.ChildWorkflowOptions {
	if waiting {
		id, summary = id+"-waiting", summary+": what is sent later"
	}
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: allowDuplicate,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
		StaticSummary:         summary,
	}
}
