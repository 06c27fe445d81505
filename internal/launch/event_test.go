package launch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/workflows"
)

// Temporal's answer decides about the claimed row, so StartEvent returns the error unchanged. An
// event that was started before counts as started.
func TestStartEvent(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	tests := []struct {
		name   string
		silent bool                                 // PUBLISH_EVENTS is false
		answer error                                // the error of the start
		holder *client.WorkflowExecutionDescription // the workflow that has the id; nil: not read
		lost   error                                // the error when the workflow is read
		want   error
	}{
		{name: "started"},
		{name: "started without publishing", silent: true},
		{name: "started before", answer: started, holder: described("NotifyEvent", "herald-events")},
		{name: "another workflow", answer: started, holder: described("Digest", "herald-email"), want: taken("Digest", "herald-email")},
		{name: "another installation", answer: started, holder: described("NotifyEvent", "other-events"),
			want: taken("NotifyEvent", "other-events")},
		{name: "another workflow of the same queue", answer: started, holder: described("PollOutbox", "herald-events"),
			want: taken("PollOutbox", "herald-events")},
		{
			name: "forgotten meanwhile", answer: started, holder: described("", ""), lost: serviceerror.NewNotFound("no such workflow"),
			want: serviceerror.NewUnavailable("another workflow had the id a moment ago"),
		},
		{name: "out of reach", answer: unavailable, want: unavailable},
	}
	for _, tt := range tests {
		in := workflows.NotifyInput{EventID: "evt-1", Source: "orders", Publish: !tt.silent, Cancels: "evt-0"}
		server := mocks.NewClient(t)
		server.On("ExecuteWorkflow", mock.Anything, eventWith(enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY),
			mock.MatchedBy(isNotifyEvent), in).
			Return(nil, tt.answer).Once()
		if tt.holder != nil {
			server.On("DescribeWorkflow", mock.Anything, "evt-1", "").Return(tt.holder, tt.lost).Once()
		}
		launcher := launch.Launcher{Client: server, Prefix: "herald", PublishEvents: !tt.silent, Sources: sources}

		require.Equal(t, tt.want, launcher.StartEvent(t.Context(), event, false), tt.name)
	}
}

// StartEventAgain starts an event after any end of its last run.
func TestStartEventAgain(t *testing.T) {
	t.Parallel()

	server, launcher := withServer(t)
	server.On("ExecuteWorkflow", mock.Anything, eventWith(enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE), mock.MatchedBy(isNotifyEvent),
		mock.Anything).
		Return(nil, nil).Once()

	require.NoError(t, launcher.StartEventAgain(t.Context(), event))
}

// Cancel ignores a workflow that is not an event of this installation: a producer chooses the id
// and may name any workflow.
func TestCancel(t *testing.T) {
	t.Parallel()

	unavailable, notFound := serviceerror.NewUnavailable("no connection"), serviceerror.NewNotFound("no such workflow")
	running, completed := enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	tests := []struct {
		name         string
		delivery     bool
		workflowType string
		queue        string
		status       enums.WorkflowExecutionStatus
		unknown      error
		asked        bool
		answer, want error
	}{
		{name: "running", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true},
		{name: "ended", workflowType: "NotifyEvent", queue: "herald-events", status: completed},
		{name: "ended meanwhile", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true, answer: notFound},
		{name: "not started yet", unknown: notFound},
		{name: "a poller", workflowType: "PollOutbox", queue: "herald-events", status: running},
		{name: "event of another installation", workflowType: "NotifyEvent", queue: "other-events", status: running},
		{name: "a delivery", delivery: true, workflowType: "DeliverNotification", queue: "herald-email", status: running, asked: true},
		{name: "a delivery that has ended", delivery: true, workflowType: "DeliverNotification", queue: "herald-email", status: completed},
		{name: "delivery of another installation", delivery: true, workflowType: "DeliverNotification", queue: "other-email", status: running},
		{name: "delivery id of an event", delivery: true, workflowType: "NotifyEvent", queue: "herald-events", status: running},
		{name: "a delivery in a batch", delivery: true, unknown: notFound},
		{name: "out of reach", workflowType: "NotifyEvent", queue: "herald-events", status: running, asked: true, answer: unavailable,
			want: unavailable},
	}
	for _, tt := range tests {
		server, found := mocks.NewClient(t), described(tt.workflowType, tt.queue)
		found.RawResponse.WorkflowExecutionInfo.Status = tt.status
		server.On("DescribeWorkflow", mock.Anything, "evt-1", "").Return(found, tt.unknown).Once()
		if tt.asked {
			server.On("CancelWorkflowWithOptions", mock.Anything,
				client.CancelWorkflowOptions{WorkflowID: "evt-1", Reason: "a reason"}).Return(tt.answer).Once()
		}

		launcher := launch.Launcher{Client: server, Prefix: "herald"}
		cancel := launcher.CancelEvent
		if tt.delivery {
			cancel = launcher.CancelDelivery
		}

		require.ErrorIs(t, cancel(t.Context(), "evt-1", "a reason"), tt.want, tt.name)
	}
}

var sources = map[string]relay.Source{"orders": {Name: "orders", People: true}}

var event = notification.PendingEvent{
	ID: "evt-1", Source: "orders", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "c1",
	Cancels: "evt-0",
}

// eventWith matches the start options of the test's event.
func eventWith(reuse enums.WorkflowIdReusePolicy) any {
	return mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.ID == "evt-1" && o.TaskQueue == "herald-events" && o.Memo["correlation_id"] == "c1" &&
			o.WorkflowIDReusePolicy == reuse && o.WorkflowExecutionErrorWhenAlreadyStarted
	})
}

func taken(workflowType, queue string) error {
	return &notification.IDTakenError{WorkflowType: workflowType, TaskQueue: queue}
}

// The input of an event's workflow has no topic.
func TestStartEventOfASource(t *testing.T) {
	t.Parallel()

	kafka := &relay.KafkaRoute{Topic: "events"}
	tests := []struct {
		name   string
		source string
		config relay.Source
		want   workflows.NotifyInput
	}{
		{"Herald's own", "herald", relay.Source{}, workflows.NotifyInput{Source: "herald", Publish: true}},
		{"Herald's own, with a topic", "herald", relay.Source{Name: "herald", Kafka: kafka},
			workflows.NotifyInput{Source: "herald", Publish: true}},
		{"only people", "orders", relay.Source{Name: "orders", People: true}, workflows.NotifyInput{Source: "orders", Publish: true}},
		{"both", "orders", relay.Source{Name: "orders", Kafka: kafka, People: true}, workflows.NotifyInput{Source: "orders", Publish: true}},
	}
	for _, tt := range tests {
		tt.want.EventID = "evt-1"
		tt.config.Retries, tt.config.RetryInterval = 5, time.Second
		server := mocks.NewClient(t)
		server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.MatchedBy(isNotifyEvent), tt.want).Return(nil, nil).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald", PublishEvents: true}
		if tt.config.Name != "" {
			launcher.Sources = map[string]relay.Source{tt.config.Name: tt.config}
		}

		require.NoError(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1", Source: tt.source, Type: "T"}, false), tt.name)
	}
}

// A process does not start events of a source that its configuration lacks, or of a source without
// people. The process that stored them may have had other settings.
func TestStartEventOfAWrongSource(t *testing.T) {
	t.Parallel()

	for wrong, want := range map[string]string{"unknown": `OUTBOX_SOURCES has no source named "unknown"`, "wallet": "tells no people"} {
		launcher := launch.Launcher{Client: mocks.NewClient(t), Prefix: "herald", Sources: map[string]relay.Source{"wallet": {Name: "wallet"}}}
		require.ErrorContains(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1", Source: wrong, Type: "T"}, false), want)
	}
}

// The aggregate of another outbox may be missing, or longer than Temporal allows.
func TestStartEventWithAnyAggregate(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("é", 127)
	tests := []struct {
		name     string
		event    notification.PendingEvent
		found    int // the number of search attributes
		summary  string
		summaryN int
	}{
		{"none", notification.PendingEvent{Type: "FundsAdded"}, 1, "FundsAdded", 10},
		{"no id", notification.PendingEvent{Type: "FundsAdded", AggregateType: "CUSTOMER"}, 1, "FundsAdded", 10},
		{"both", notification.PendingEvent{Type: "FundsAdded", AggregateType: "CUSTOMER", AggregateID: "5"}, 2, "FundsAdded of CUSTOMER/5", 24},
		{"long", notification.PendingEvent{Type: long, AggregateType: long, AggregateID: long}, 1, long, 300},
	}
	for _, tt := range tests {
		tt.event.ID, tt.event.Source = "evt-1", "orders"
		server, launcher := withServer(t)
		server.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.TypedSearchAttributes.Size() == tt.found && strings.HasPrefix(o.StaticSummary, tt.summary) &&
				len(o.StaticSummary) <= tt.summaryN
		}), mock.Anything, mock.Anything).Return(nil, nil).Once()

		require.NoError(t, launcher.StartEvent(t.Context(), tt.event, false), tt.name)
	}
}
