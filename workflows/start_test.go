package workflows_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// What the server answers decides about the claimed row, so it is handed on as
// it is; an event that was started before is started.
func TestStartEvent(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	forgotten := serviceerror.NewUnavailable("the workflow that had the id was forgotten meanwhile")
	tests := []struct {
		name    string
		publish bool
		answer  error
		found   *workflowservice.DescribeWorkflowExecutionResponse // nil: nobody is asked
		lost    error
		want    error
	}{
		{"started", true, nil, nil, nil, nil},
		{"started without publishing", false, nil, nil, nil, nil},
		{"started before", true, started, described("NotifyEvent", "herald-events"), nil, nil},
		{"another workflow", true, started, described("Digest", "herald-email"), nil, &notification.IDTakenError{WorkflowType: "Digest", TaskQueue: "herald-email"}},
		{"another installation", true, started, described("NotifyEvent", "other-events"), nil, &notification.IDTakenError{WorkflowType: "NotifyEvent", TaskQueue: "other-events"}},
		{"another workflow of the same queue", true, started, described("PollOutbox", "herald-events"), nil, &notification.IDTakenError{WorkflowType: "PollOutbox", TaskQueue: "herald-events"}},
		{"forgotten meanwhile", true, started, described("", ""), serviceerror.NewNotFound("no such workflow"), forgotten},
		{"out of reach", true, unavailable, nil, nil, unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			temporal := mocks.NewClient(t)
			once := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				return o.ID == "evt-1" && o.TaskQueue == "herald-events" && o.Memo["correlation_id"] == "c1" &&
					o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY && o.WorkflowExecutionErrorWhenAlreadyStarted
			})
			in := workflows.NotifyInput{EventID: "evt-1", Publish: tt.publish, Commands: workflows.Commands}
			temporal.On("ExecuteWorkflow", mock.Anything, once, mock.MatchedBy(isNotifyEvent), in).
				Return(nil, tt.answer).Once()
			if tt.found != nil {
				temporal.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(tt.found, tt.lost).Once()
			}
			starter := workflows.Starter{Client: temporal, Prefix: "herald", PublishEvents: tt.publish}
			event := notification.PendingEvent{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "c1"}

			err := starter.StartEvent(t.Context(), event)

			require.Equal(t, tt.want, err)
		})
	}
}

// described is what Temporal tells of a workflow of this type on this task queue.
func described(workflowType, queue string) *workflowservice.DescribeWorkflowExecutionResponse {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Type: &commonpb.WorkflowType{Name: workflowType}},
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: queue}},
	}
}

// A digest is told of its item in the call that starts it, where it does not run.
func TestJoinDigest(t *testing.T) {
	t.Parallel()

	const id = "herald-digest-staff10-EMAIL-REVIEW_POSTED"
	item, today := items(1)[0], policy(notification.Email)
	options := client.StartWorkflowOptions{
		TaskQueue: "herald-email",
		Priority:  temporal.Priority{PriorityKey: 5},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.EventTypeAttribute.ValueSet("REVIEW_POSTED"),
			workflows.RecipientAttribute.ValueSet("RESTAURANT_USER/10"),
			workflows.ChannelAttribute.ValueSet("EMAIL"),
		),
		StaticSummary: "EMAIL digest to RESTAURANT_USER/10: REVIEW_POSTED",
	}
	place := notification.DigestPlace{Key: digestKey, Priority: notification.Low, Window: window}
	for _, answer := range []error{nil, errors.New("no connection")} {
		temporal := mocks.NewClient(t)
		temporal.On("SignalWithStartWorkflow", mock.Anything, id, join, item, options, mock.MatchedBy(isDigest), digestInput()).Return(nil, answer).Once()
		starter := workflows.Starter{Client: temporal, Prefix: "herald"}

		got, err := starter.JoinDigest(t.Context(), activities.Join{DeliveryID: item, Place: place, Policy: today})

		require.ErrorIs(t, err, answer)
		require.Equal(t, answer == nil, got == id)
	}
}

func TestStartPoller(t *testing.T) {
	t.Parallel()

	for _, answer := range []error{nil, errors.New("no connection")} {
		temporal := mocks.NewClient(t)
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == "herald-outbox-poller-2" && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		})
		temporal.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), workflows.PollInput{}).Return(nil, answer).Once()
		starter := workflows.Starter{Client: temporal, Prefix: "herald"}

		require.ErrorIs(t, starter.StartPoller(t.Context(), 2), answer)
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
