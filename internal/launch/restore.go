package launch

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"herald/activities"
	"herald/workflows"
)

// StartRestore starts [workflows.Restore], or joins a restore that runs.
func (l *Launcher) StartRestore(ctx context.Context, in workflows.RestoreInput) (client.WorkflowRun, error) {
	id := workflows.RestoreID(l.Prefix, in)
	return startOrder(ctx, l, id, "starts what the tables have and Temporal lacks", workflows.Restore, in)
}

// StartRepublish starts [workflows.RepublishEvents], or joins one that runs.
func (l *Launcher) StartRepublish(ctx context.Context, since time.Time, rate int) (client.WorkflowRun, error) {
	in := activities.RepublishInput{Since: since, Rate: rate}
	return startOrder(ctx, l, workflows.RepublishID(l.Prefix), "publishes the messages of events again", workflows.RepublishEvents, in)
}

// startOrder starts the workflow of an operator's order, or joins a running one.
func startOrder(ctx context.Context, l *Launcher, id, summary string, workflow, in any) (client.WorkflowRun, error) {
	options := client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                workflows.EventsQueue(l.Prefix),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            summary,
	}
	run, err := l.Client.ExecuteWorkflow(ctx, options, workflow, in)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", id, err)
	}
	return run, nil
}

// Progress returns the details of the last heartbeat of the activity that a workflow runs; the zero value:
// none runs, or it has sent none yet.
func Progress[Details any](ctx context.Context, temporal client.Client, workflowID string) (progress Details, err error) {
	described, err := Describe(ctx, temporal, workflowID, "")
	for _, activity := range described.GetPendingActivities() {
		if details := activity.GetHeartbeatDetails(); details != nil {
			err = converter.GetDefaultDataConverter().FromPayloads(details, &progress)
		}
	}
	return progress, err
}
