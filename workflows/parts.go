package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// cancelPartOptions leaves time for the cancellation of a million deliveries.
var cancelPartOptions = heartbeating(5*time.Minute, time.Minute, "cancel the deliveries that were not sent yet")

// endPart returns the error with which the workflow of a part ends. If the workflow was cancelled,
// endPart first cancels the unsent deliveries of the part, so that neither the event nor the sweep
// sends them.
func endPart(ctx workflow.Context, part notification.Part, err error) error {
	if ctx.Err() == nil {
		return err
	}
	disconnected, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	if err := cancelUnsent(disconnected, part, notification.CancelledInTemporal); err != nil {
		return err
	}
	return ctx.Err()
}

func cancelUnsent(ctx workflow.Context, part notification.Part, reason notification.EndReason) error {
	workflow.SetCurrentDetails(ctx, "marking the deliveries that were not sent: "+string(reason))
	in := activities.CancelPartInput{Part: part, Reason: reason}
	if event := workflow.GetInfo(ctx).RootWorkflowExecution; event != nil {
		in.EventRun = event.RunID
	}
	_, err := execute[activities.CancelPartResult](ctx, cancelPartOptions, acts.CancelPart, in)
	return err
}

// eachListed calls deliver for each delivery of a part. It reads the part in lists of a bounded
// size.
func eachListed(
	ctx workflow.Context, list activities.ListInput, deliver func(notification.Delivery, activities.DeliveryPolicy) error,
) error {
	for {
		found, err := execute[activities.ListResult](ctx, listOptions, acts.ListDeliveries, list)
		if err != nil {
			return err
		}
		for _, d := range found.Deliveries {
			if err := deliver(d, found.Policies[d.Channel]); err != nil {
				return err
			}
		}
		if found.Next == 0 {
			return nil
		}
		list.IDs.First = found.Next
	}
}

// runPart runs the workflow of a part of an event's deliveries. If another type of workflow has its
// id, the deliveries stay PENDING, and the event's outcome is INCOMPLETE. If an operator terminated
// the part, runPart cancels the deliveries that it had not sent: the part could not do that, and the
// sweep knows only workflows of events and deliveries.
func runPart(
	ctx workflow.Context, options workflow.ChildWorkflowOptions, workflowType string, part notification.Part,
	start func(ctx workflow.Context) workflow.ChildWorkflowFuture,
) (err error) {
	holder, err := runChild(ctx, options, workflowType, start)
	if holder != "" {
		workflow.GetLogger(ctx).Error("cannot start a part of the deliveries: another workflow has its id", "workflow_id", options.WorkflowID,
			"by", holder)
	}
	if isTerminated(err) && ctx.Err() == nil {
		return cmp.Or(cancelUnsent(ctx, part, notification.TerminatedInTemporal), err)
	}
	return err
}

// isTerminated reports whether a child ended because somebody terminated it.
func isTerminated(err error) bool {
	_, terminated := errors.AsType[*temporal.TerminatedError](err)
	return terminated || errors.Is(err, errTerminated)
}

// runPage runs [NotifyPage].
func runPage(ctx workflow.Context, options workflow.ChildWorkflowOptions, page PageInput) {
	_ = runPart(ctx, options, NotifyPageType, page.Part, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
		return workflow.ExecuteChildWorkflow(ctx, NotifyPage, page)
	})
}

const allowDuplicate = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE

// partOptions lets a lane, page or batch run again if its event runs again. The rows and the
// workflow IDs of the deliveries prevent duplicates.
func partOptions(event batchEvent, lane notification.Lane, id, summary string) workflow.ChildWorkflowOptions {
	if lane.Waiting {
		id, summary = id+"-waiting", summary+": deliveries that wait"
	}
	options := childOptions(event, lane.Channel, id, summary)
	options.WorkflowIDReusePolicy = allowDuplicate
	return options
}

func laneOptions(event batchEvent, lane notification.Lane) workflow.ChildWorkflowOptions {
	return partOptions(event, lane, LaneID(event.id, lane.Channel), fmt.Sprintf("all deliveries by %s", lane.Channel))
}

func pageOptions(event batchEvent, lane notification.Lane, n int) workflow.ChildWorkflowOptions {
	id := fmt.Sprintf("%s-page-%s-%d", event.id, lane.Channel, n)
	return partOptions(event, lane, id, fmt.Sprintf("page %d of the deliveries by %s", n, lane.Channel))
}

// restOptions are the options of the n-th page of a batch.
func restOptions(event batchEvent, in BatchInput, n int) workflow.ChildWorkflowOptions {
	id := fmt.Sprintf("%s-page-%d", BatchID(event.id, in.Channel, in.Number), n)
	return partOptions(event, notification.Lane{Channel: in.Channel}, id,
		fmt.Sprintf("page %d of the deliveries that left batch %d by %s", n, in.Number, in.Channel))
}

func batchOptions(event batchEvent, in BatchInput) workflow.ChildWorkflowOptions {
	lane := notification.Lane{Channel: in.Channel}
	options := partOptions(event, lane, BatchID(event.id, in.Channel, in.Number),
		fmt.Sprintf("batch %d of the deliveries by %s", in.Number, in.Channel))
	options.Priority = Priority(in.Priority, in.Aggregate)
	return options
}
