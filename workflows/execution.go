package workflows

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"herald/activities"
)

// Execution describes the last run of a workflow; the zero value: Temporal knows none.
func (s *Starter) Execution(ctx context.Context, workflowID string) (activities.Execution, error) {
	described, err := s.Client.DescribeWorkflowExecution(ctx, workflowID, "")
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return activities.Execution{}, nil
	}
	if err != nil {
		return activities.Execution{}, fmt.Errorf("describe workflow: %w", err)
	}
	info := described.GetWorkflowExecutionInfo()
	return activities.Execution{
		Type:      info.GetType().GetName(),
		TaskQueue: described.GetExecutionConfig().GetTaskQueue().GetName(),
		State:     stateOf(info.GetStatus()),
	}, nil
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
