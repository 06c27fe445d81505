package launch

import (
	"context"

	workflowpb "go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"herald/workflows"
)

// endedAtOnce limits the deliveries that are terminated concurrently.
const endedAtOnce = 16

// EndEvent terminates a run of an event's workflow and all workflows below it. Their code stops, so
// they write nothing more; attempts in flight end by themselves. Temporal still knows the children
// of an ended workflow. So after an interruption, another call finds the children that still run.
//
// Parents are terminated first: when a child ends, its parent would start the next one.
func (l *Launcher) EndEvent(ctx context.Context, workflowID, runID, reason string) error {
	if err := l.terminate(ctx, workflowID, runID, reason); err != nil {
		return err
	}
	described, err := Describe(ctx, l.Client, workflowID, runID)
	if err != nil {
		return err
	}
	return l.endChildren(ctx, described.GetPendingChildren(), reason)
}

// endChildren terminates deliveries concurrently. It ends other workflows one after the other,
// because each of them may have many deliveries.
func (l *Launcher) endChildren(ctx context.Context, children []*workflowpb.PendingChildExecutionInfo, reason string) error {
	deliveries, within := errgroup.WithContext(ctx)
	deliveries.SetLimit(endedAtOnce)
	for _, child := range children {
		id := child.GetWorkflowId()
		if child.GetWorkflowTypeName() == workflows.DeliverNotificationType {
			deliveries.Go(func() error { return l.terminate(within, id, "", reason) })
		} else if err := l.EndEvent(ctx, id, "", reason); err != nil {
			_ = deliveries.Wait() // one error is enough
			return err
		}
	}
	return deliveries.Wait()
}

// terminate ends a workflow. It returns no error if the workflow has already ended.
func (l *Launcher) terminate(ctx context.Context, id, runID, reason string) error {
	return unlessGone(l.Client.TerminateWorkflow(ctx, id, runID, reason), "terminate "+id)
}
