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
	"herald/internal/outboxes"
	"herald/workflows"
)

// The server's answer decides what becomes of the claimed row, so StartEvent returns
// it as it is. An event that was started before counts as started.
func TestStartEvent(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	tests := []struct {
		name   string
		silent bool                                               // PUBLISH_EVENTS is false
		answer error                                              // of the start
		holder *workflowservice.DescribeWorkflowExecutionResponse // what has the id; nil: nobody asks
		lost   error                                              // nobody has it
		want   error
	}{
		{name: "started"},
		{name: "started without publishing", silent: true},
		{name: "started before", answer: started, holder: described("NotifyEvent", "herald-events")},
		{name: "another workflow", answer: started, holder: described("Digest", "herald-email"), want: taken("Digest", "herald-email")},
		{name: "another installation", answer: started, holder: described("NotifyEvent", "other-events"), want: taken("NotifyEvent", "other-events")},
		{name: "another workflow of the same queue", answer: started, holder: described("PollOutbox", "herald-events"), want: taken("PollOutbox", "herald-events")},
		{
			name: "forgotten meanwhile", answer: started, holder: described("", ""), lost: serviceerror.NewNotFound("no such workflow"),
			want: serviceerror.NewUnavailable("another workflow had the id a moment ago"),
		},
		{name: "out of reach", answer: unavailable, want: unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in := workflows.NotifyInput{EventID: "evt-1", Source: "orders", Publish: !tt.silent, Commands: workflows.Commands, Cancels: "evt-0"}
			server := mocks.NewClient(t)
			server.On("ExecuteWorkflow", mock.Anything, eventWith(enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY), mock.MatchedBy(isNotifyEvent), in).
				Return(nil, tt.answer).Once()
			if tt.holder != nil {
				server.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(tt.holder, tt.lost).Once()
			}
			launcher := launch.Launcher{Client: server, Prefix: "herald", PublishEvents: !tt.silent, Sources: sources}

			require.Equal(t, tt.want, launcher.StartEvent(t.Context(), event))
		})
	}
}

// An event is started again however its last run ended.
func TestStartEventAgain(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	server.On("ExecuteWorkflow", mock.Anything, eventWith(enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE), mock.MatchedBy(isNotifyEvent), mock.Anything).
		Return(nil, nil).Once()
	launcher := launch.Launcher{Client: server, Prefix: "herald", Sources: sources}

	require.NoError(t, launcher.StartEventAgain(t.Context(), event))
}

// Only the workflow of an event of this installation is asked to end: a producer may
// name anything.
func TestCancelEvent(t *testing.T) {
	t.Parallel()

	unavailable, notFound := serviceerror.NewUnavailable("no connection"), serviceerror.NewNotFound("no such workflow")
	running, completed := enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	tests := []struct {
		name         string
		workflowType string
		queue        string
		status       enums.WorkflowExecutionStatus
		unknown      error
		asked        bool
		answer, want error
	}{
		{name: "runs", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true},
		{name: "has ended", workflowType: "NotifyEvent", queue: "herald-events", status: completed},
		{name: "ended meanwhile", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true, answer: notFound},
		{name: "not started yet", unknown: notFound},
		{name: "a poller", workflowType: "PollOutbox", queue: "herald-events", status: running},
		{name: "another installation's", workflowType: "NotifyEvent", queue: "other-events", status: running},
		{name: "out of reach", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true, answer: unavailable, want: unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server, found := mocks.NewClient(t), described(tt.workflowType, tt.queue)
			found.WorkflowExecutionInfo.Status = tt.status
			server.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(found, tt.unknown).Once()
			if tt.asked {
				server.On("CancelWorkflow", mock.Anything, "evt-1", "").Return(tt.answer).Once()
			}

			launcher := launch.Launcher{Client: server, Prefix: "herald"}

			require.ErrorIs(t, launcher.CancelEvent(t.Context(), "evt-1"), tt.want)
		})
	}
}

var sources = map[string]outboxes.Source{"orders": {Name: "orders", People: true}}

var event = notification.PendingEvent{
	ID: "evt-1", Source: "orders", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "c1", Cancels: "evt-0",
}

// eventWith matches the options of a start of event.
func eventWith(reuse enums.WorkflowIdReusePolicy) any {
	return mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.ID == "evt-1" && o.TaskQueue == "herald-events" && o.Memo["correlation_id"] == "c1" &&
			o.WorkflowIDReusePolicy == reuse && o.WorkflowExecutionErrorWhenAlreadyStarted
	})
}

func taken(workflowType, queue string) error {
	return &notification.IDTakenError{WorkflowType: workflowType, TaskQueue: queue}
}
