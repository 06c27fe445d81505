package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

func TestStartPoller(t *testing.T) {
	t.Parallel()

	tests := []struct {
		source string
		answer error
		anew   bool
		id     string
		policy enums.WorkflowIdConflictPolicy
	}{
		{source: "herald", id: "herald-outbox-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "herald", answer: errors.New("no connection"), id: "herald-outbox-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "orders", anew: true, id: "herald-orders-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING},
	}
	for _, tt := range tests {
		server, launcher := withServer(t)
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == tt.id && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == tt.policy
		})
		server.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), workflows.PollInput{Source: tt.source}).Return(nil, tt.answer).Once()

		require.ErrorIs(t, launcher.StartPoller(t.Context(), tt.source, 2, tt.anew), tt.answer)
	}
}

// withServer returns a launcher, and a mock of its Temporal.
func withServer(t *testing.T) (*mocks.Client, *launch.Launcher) {
	server := mocks.NewClient(t)
	return server, &launch.Launcher{Client: server, Prefix: "herald", Generation: 4, Sources: sources}
}

var (
	restaurant = notification.Entity{Type: "RESTAURANT", ID: "5"}
	policy     = activities.DeliveryPolicy{
		TaskQueue:     "herald-email",
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second},
	}
)

// described returns Temporal's description of a workflow of this type on this task queue.
func described(workflowType, queue string) *workflowservice.DescribeWorkflowExecutionResponse {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Type: &commonpb.WorkflowType{Name: workflowType}},
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: queue}},
	}
}

// Functions cannot be compared. Each workflow function has a different type, so the matchers below
// compare types.
func isNotifyEvent(func(workflow.Context, workflows.NotifyInput) (workflows.NotifyResult, error)) bool {
	return true
}

func isPollOutbox(func(workflow.Context, workflows.PollInput) error) bool { return true }

func isDigest(func(workflow.Context, workflows.DigestInput) (workflows.DigestResult, error)) bool {
	return true
}

func isDeliverNotification(func(workflow.Context, workflows.DeliverInput) (workflows.DeliverResult, error)) bool {
	return true
}
