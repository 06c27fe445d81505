package launch

import (
	"context"
	"fmt"

	workflowpb "go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"herald/workflows"
)

// endedAtOnce bounds the deliveries that are ended at the same time.
const endedAtOnce = 16

// EndEvent terminates a run of an event's workflow and all workflows below it. Their code
// runs no further, so they write nothing; attempts under way end by themselves. A workflow
// that has ended still knows its children, so a repetition finds what an interruption left.
//
// Parents come first: a parent whose child is terminated would start the next one.
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

// endChildren ends many deliveries at the same time, and others one after the other, since
// each of those may have many deliveries.
func (l *Launcher) endChildren(ctx context.Context, children []*workflowpb.PendingChildExecutionInfo, reason string) error {
	deliveries, within := errgroup.WithContext(ctx)
	deliveries.SetLimit(endedAtOnce)
	for _, child := range children {
		id := child.GetWorkflowId()
		if child.GetWorkflowTypeName() == workflows.DeliverNotificationType {
			deliveries.Go(func() error { return l.terminate(within, id, "", reason) })
		} else if err := l.EndEvent(ctx, id, "", reason); err != nil {
			_ = deliveries.Wait() // the first error is enough
			return err
		}
	}
	return deliveries.Wait()
}

// terminate ends a workflow. One that has ended already is as good.
func (l *Launcher) terminate(ctx context.Context, id, runID, reason string) error {
	if err := l.Client.TerminateWorkflow(ctx, id, runID, reason); err != nil && !IsNotFound(err) {
		return fmt.Errorf("terminate %s: %w", id, err)
	}
	return nil
}
