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
		Type: info.GetType().GetName(), TaskQueue: info.GetTaskQueue(),
		Open:      info.GetCloseTime() == nil,
		Completed: info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	}, nil
}
