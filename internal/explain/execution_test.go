package explain_test

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
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"herald/internal/explain"
	"herald/workflows"
)

func TestEventWorkflow(t *testing.T) {
	t.Parallel()

	outcome, err := converter.GetDefaultDataConverter().ToPayload("NO_ROUTING")
	require.NoError(t, err)
	attributes := &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{workflows.OutcomeAttribute.GetName(): outcome}}
	failure := errors.New("event cannot be planned")
	tests := []struct {
		name   string
		status enums.WorkflowExecutionStatus
		err    error // from DescribeWorkflowExecution
		result error // from the workflow
		want   explain.WorkflowView
	}{
		{name: "running", status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			want: explain.WorkflowView{Status: "RUNNING", RunID: "run-1", HeraldOutcome: "NO_ROUTING"}},
		{name: "completed", status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
			want: explain.WorkflowView{Status: "COMPLETED", RunID: "run-1", HeraldOutcome: "NO_ROUTING", Outcome: "NO_ROUTING", Problem: "no rows"}},
		{name: "failed", status: enums.WORKFLOW_EXECUTION_STATUS_FAILED, result: failure,
			want: explain.WorkflowView{Status: "FAILED", RunID: "run-1", HeraldOutcome: "NO_ROUTING", Failure: "event cannot be planned"}},
		{name: "unknown to Temporal", err: serviceerror.NewNotFound("x"),
			want: explain.WorkflowView{
				Status: explain.Unknown, Note: "Temporal does not know it: it was not started yet, or its retention has ended",
			}},
		{name: "out of reach", err: serviceerror.NewUnavailable("down"),
			want: explain.WorkflowView{Status: explain.Unreachable, Note: "describe evt-1: down"}},
	}
	for _, tt := range tests {
		temporal, run := mocks.NewClient(t), &mocks.WorkflowRun{}
		temporal.On("DescribeWorkflow", mock.Anything, "evt-1",
			"").Return(&client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
				Status: tt.status, Execution: &commonpb.WorkflowExecution{RunId: "run-1"}, SearchAttributes: attributes,
			},
		}}, tt.err)
		temporal.On("GetWorkflow", mock.Anything, "evt-1", "run-1").Return(run).Maybe()
		run.On("Get", mock.Anything, mock.Anything).Run(func(args mock.Arguments) {
			*args.Get(1).(*workflows.NotifyResult) = workflows.NotifyResult{Outcome: "NO_ROUTING", Problem: "no rows"}
		}).Return(tt.result)

		got, _ := explain.Explainer{Temporal: temporal}.EventWorkflow(t.Context(), "evt-1")
		require.Equal(t, tt.want, got, tt.name)
	}
}
