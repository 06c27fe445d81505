package launch

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"herald/internal/notification"
	"herald/workflows"
)

// StartRestore starts [workflows.Restore], or joins a restore that runs.
func (l *Launcher) StartRestore(ctx context.Context, in workflows.RestoreInput) (client.WorkflowRun, error) {
	options := client.StartWorkflowOptions{
		ID:                       workflows.RestoreID(l.Prefix, in.DryRun),
		TaskQueue:                workflows.EventsQueue(l.Prefix),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "starts what the tables have and Temporal lacks",
	}
	run, err := l.Client.ExecuteWorkflow(ctx, options, workflows.Restore, in)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", options.ID, err)
	}
	return run, nil
}

// RestoreProgress returns the progress of the activity that a [workflows.Restore] runs; the zero value:
// none runs, or it has made no progress yet.
func (l *Launcher) RestoreProgress(ctx context.Context, workflowID string) (progress notification.Restored, err error) {
	described, err := Describe(ctx, l.Client, workflowID, "")
	for _, activity := range described.GetPendingActivities() {
		if details := activity.GetHeartbeatDetails(); details != nil {
			err = converter.GetDefaultDataConverter().FromPayloads(details, &progress)
		}
	}
	return progress, err
}
