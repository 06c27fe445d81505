package example

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/workflows"
)

// Temporal is what reading the outcome of an event needs of the client.
type Temporal interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	GetWorkflow(ctx context.Context, workflowID, runID string) client.WorkflowRun
}

// Outcome reads what an event came to: the outcome that its workflow gave
// itself, else COMPLETED, else the workflow's status, such as RUNNING. A
// workflow that Temporal does not know has the outcome "".
func Outcome(ctx context.Context, temporal Temporal, eventID string) (string, error) {
	description, err := temporal.DescribeWorkflowExecution(ctx, eventID, "")
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("describe workflow: %w", err)
	}
	info := description.GetWorkflowExecutionInfo()
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return strings.ToUpper(info.GetStatus().String()), nil
	}
	var result workflows.NotifyResult
	if err := temporal.GetWorkflow(ctx, eventID, info.GetExecution().GetRunId()).Get(ctx, &result); err != nil {
		return "", fmt.Errorf("read result: %w", err)
	}
	if result.Outcome != "" {
		return string(result.Outcome), nil
	}
	return Completed, nil
}
