package example_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"

	"herald/internal/example"
	"herald/internal/notification"
	"herald/workflows"
)

func TestOutcome(t *testing.T) {
	t.Parallel()

	down := errors.New("connection refused")
	tests := []struct {
		name   string
		status enums.WorkflowExecutionStatus
		err    error
		result notification.EventOutcome
		want   string
	}{
		{"running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil, "", "RUNNING"},
		{"completed", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, nil, "", "COMPLETED"},
		{"completed for nobody", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, nil, "NO_ROUTING", "NO_ROUTING"},
		{"failed", enums.WORKFLOW_EXECUTION_STATUS_FAILED, nil, "", "FAILED"},
		{"unknown", 0, serviceerror.NewNotFound("no such workflow"), "", ""},
		{"out of reach", 0, down, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			temporal, run := mocks.NewClient(t), &mocks.WorkflowRun{}
			temporal.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
					Status: tt.status, Execution: &commonpb.WorkflowExecution{WorkflowId: "evt-1", RunId: "run-1"},
				},
			}, tt.err)
			temporal.On("GetWorkflow", mock.Anything, "evt-1", "run-1").Return(run).Maybe()
			run.On("Get", mock.Anything, mock.Anything).Run(func(args mock.Arguments) {
				args.Get(1).(*workflows.NotifyResult).Outcome = tt.result
			}).Return(nil)

			got, err := example.Outcome(t.Context(), temporal, "evt-1")

			if errors.Is(tt.err, down) {
				require.ErrorIs(t, err, down)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}
