package launch

import (
	"context"

	enums "go.temporal.io/api/enums/v1"

	"herald/activities"
)

// Execution describes the last run of a workflow; the zero value: Temporal knows none.
func (l *Launcher) Execution(ctx context.Context, workflowID string) (activities.Execution, error) {
	described, err := Describe(ctx, l.Client, workflowID, "")
	if err != nil || described == nil {
		return activities.Execution{}, err
	}
	info := described.GetWorkflowExecutionInfo()
	return activities.Execution{
		Type:      info.GetType().GetName(),
		TaskQueue: described.GetExecutionConfig().GetTaskQueue().GetName(),
		State:     stateOf(info.GetStatus()),
	}, nil
}

// Terminated reports whether one run of a workflow was terminated or deleted.
func (l *Launcher) Terminated(ctx context.Context, workflowID, runID string) (bool, error) {
	described, err := Describe(ctx, l.Client, workflowID, runID)
	terminated := described.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	return err == nil && (described == nil || terminated), err
}

func stateOf(status enums.WorkflowExecutionStatus) activities.WorkflowState {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_PAUSED, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return activities.WorkflowRunning
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return activities.WorkflowCompleted
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return activities.WorkflowTerminated
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return activities.WorkflowCancelled
	default:
		return activities.WorkflowFailed
	}
}

// state returns the state of a workflow of this type and task queue. If another workflow has the
// id, the state is WorkflowUnknown.
func (l *Launcher) state(ctx context.Context, id, workflowType, queue string) (activities.WorkflowState, error) {
	found, err := l.Execution(ctx, id)
	if err != nil || found.Type != workflowType || found.TaskQueue != queue {
		return activities.WorkflowUnknown, err
	}
	return found.State, nil
}
