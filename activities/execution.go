package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// Executions reads workflows from Temporal.
type Executions interface {
	// Execution describes the last run of a workflow; the zero value: there is none.
	Execution(ctx context.Context, workflowID string) (Execution, error)
	// HasChild reports whether the last run of a workflow runs, and waits for a child with this id.
	HasChild(ctx context.Context, workflowID, childID string) (bool, error)
	// Terminated reports whether one run of a workflow was terminated or deleted.
	Terminated(ctx context.Context, workflowID, runID string) (bool, error)
	// RolledBack reports whether a run was cancelled only because its event was terminated with
	// [notification.RollbackReason].
	RolledBack(ctx context.Context, workflowID, runID string) (bool, error)
}

// Execution is the last run of a workflow.
type Execution struct {
	Type      string
	TaskQueue string
	RunID     string
	State     WorkflowState
	ClosedAt  time.Time // zero: it runs
}

// BatchExecution is the last run of a [workflows.DeliverBatch].
type BatchExecution struct {
	State WorkflowState
	IDs   notification.IDRange // of a batch that completed
}

// WorkflowState is the progress of a workflow.
type WorkflowState string

// The states of a workflow.
const (
	WorkflowUnknown    WorkflowState = "" // Temporal has no such workflow
	WorkflowRunning    WorkflowState = "running"
	WorkflowCompleted  WorkflowState = "completed"
	WorkflowTerminated WorkflowState = "terminated" // by an operator
	WorkflowCancelled  WorkflowState = "cancelled"  // by an operator
	WorkflowFailed     WorkflowState = "failed"     // or timed out

	WorkflowRolledBack WorkflowState = "rolled back" // terminated by an operator with [notification.RollbackReason]
)

// stopped reports whether an operator ended the workflow.
func (s WorkflowState) stopped() bool { return s == WorkflowTerminated || s == WorkflowCancelled }

// rolledBack reports whether the workflow of this activity ends a delivery that the next run of its
// event shall send: a rollback terminated the event, and Temporal then cancelled this workflow.
func rolledBack(ctx context.Context, executions Executions, in GiveUpInput) (bool, error) {
	if in.Status != notification.Cancelled || in.Reason != string(notification.CancelledInTemporal) {
		return false, nil
	}
	own := activity.GetInfo(ctx).WorkflowExecution
	rolledBack, err := executions.RolledBack(ctx, own.ID, own.RunID)
	return rolledBack, retried(err)
}
