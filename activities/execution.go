package activities

import "context"

// Executions reads workflows from Temporal.
type Executions interface {
	// Execution describes the last run of a workflow; the zero value: there is none.
	Execution(ctx context.Context, workflowID string) (Execution, error)
	// Terminated reports whether one run of a workflow was terminated or deleted.
	Terminated(ctx context.Context, workflowID, runID string) (bool, error)
}

// Execution is the last run of a workflow.
type Execution struct {
	Type      string
	TaskQueue string
	State     WorkflowState
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
)

// stopped reports whether an operator ended the workflow.
func (s WorkflowState) stopped() bool { return s == WorkflowTerminated || s == WorkflowCancelled }
