package launch_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// What the server answers decides about the claimed row, so it is handed on as
// it is; an event that was started before is started.
func TestStartEvent(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	forgotten := serviceerror.NewUnavailable("another workflow had the id a moment ago")
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

			server := mocks.NewClient(t)
			once := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				return o.ID == "evt-1" && o.TaskQueue == "herald-events" && o.Memo["correlation_id"] == "c1" &&
					o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY && o.WorkflowExecutionErrorWhenAlreadyStarted
			})
			in := workflows.NotifyInput{EventID: "evt-1", Source: "orders", Publish: tt.publish, Commands: workflows.Commands}
			server.On("ExecuteWorkflow", mock.Anything, once, mock.MatchedBy(isNotifyEvent), in).
				Return(nil, tt.answer).Once()
			if tt.found != nil {
				server.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(tt.found, tt.lost).Once()
			}
			launcher := launch.Launcher{Client: server, Prefix: "herald", PublishEvents: tt.publish}
			event := notification.PendingEvent{ID: "evt-1", Source: "orders", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "c1"}

			err := launcher.StartEvent(t.Context(), event)

			require.Equal(t, tt.want, err)
		})
	}
}

// An event is started again however its last run ended.
func TestStartEventAgain(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	options := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.ID == "evt-1" && o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE && o.WorkflowExecutionErrorWhenAlreadyStarted
	})
	server.On("ExecuteWorkflow", mock.Anything, options, mock.MatchedBy(isNotifyEvent), mock.Anything).Return(nil, nil).Once()
	launcher := launch.Launcher{Client: server, Prefix: "herald"}

	require.NoError(t, launcher.StartEventAgain(t.Context(), notification.PendingEvent{ID: "evt-1"}))
}
