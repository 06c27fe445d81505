package launch_test

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var (
	restaurant = notification.Entity{Type: "RESTAURANT", ID: "5"}
	policy     = activities.DeliveryPolicy{
		TaskQueue:     "herald-email",
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second},
	}
)

// described is what Temporal tells of a workflow of this type on this task queue.
func described(workflowType, queue string) *workflowservice.DescribeWorkflowExecutionResponse {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Type: &commonpb.WorkflowType{Name: workflowType}},
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: queue}},
	}
}

// Functions cannot be compared, but each of ours has a type of its own.
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
