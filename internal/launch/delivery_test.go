package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// A new run has the delivery's ID, queue and search attributes. RetryDelivery returns Temporal's
// error unchanged, unless the last run has not ended.
func TestRetryDelivery(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	tests := []struct {
		name      string
		aggregate notification.Entity
		again     bool
		answer    error
		want      error
	}{
		{name: "started", aggregate: restaurant},
		{name: "started again", aggregate: restaurant, again: true},
		{name: "event purged", aggregate: notification.Entity{}},
		{name: "running", aggregate: restaurant, answer: serviceerror.NewWorkflowExecutionAlreadyStarted("running", "", ""),
			want: launch.ErrRunning},
		{name: "out of reach", aggregate: restaurant, answer: unavailable, want: unavailable},
	}
	for _, tt := range tests {
		attributes := []temporal.SearchAttributeUpdate{
			workflows.EventTypeAttribute.ValueSet("RESERVATION_REQUESTED"),
			workflows.RecipientAttribute.ValueSet("RESTAURANT_USER/10"),
			workflows.ChannelAttribute.ValueSet("EMAIL"),
		}
		priority := temporal.Priority{PriorityKey: 1}
		if tt.aggregate != (notification.Entity{}) {
			attributes = append(attributes, workflows.AggregateAttribute.ValueSet("RESTAURANT/5"))
			priority.FairnessKey = "RESTAURANT/5"
		}
		options := client.StartWorkflowOptions{
			ID:                                       "evt-1-staff10-EMAIL",
			TaskQueue:                                "herald-email",
			WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
			Priority:                                 priority,
			TypedSearchAttributes:                    temporal.NewSearchAttributes(attributes...),
			StaticSummary:                            "EMAIL to RESTAURANT_USER/10, retried",
			Memo:                                     map[string]any{"event_id": "evt-1"},
		}
		deliver := workflows.DeliverInput{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, Retry: true, Again: tt.again}
		server, run := mocks.NewClient(t), &mocks.WorkflowRun{}
		server.On("ExecuteWorkflow", mock.Anything, options, mock.MatchedBy(isDeliverNotification), deliver).Return(run, tt.answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		got, err := launcher.RetryDelivery(t.Context(), launch.RetryInput{
			DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, EventID: "evt-1", EventType: "RESERVATION_REQUESTED",
			Aggregate: tt.aggregate, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.High, Again: tt.again,
		})

		require.ErrorIs(t, err, tt.want, tt.name)
		if tt.want == nil {
			require.Equal(t, run, got, tt.name)
		}
	}
}

// The sweep starts a delivery as the delivery's event would.
func TestStartDeliveryAgain(t *testing.T) {
	t.Parallel()

	const id = "evt-1-staff10-EMAIL"
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	tests := []struct {
		name   string
		answer error
		holder string
		err    error
	}{
		{name: "started"},
		{name: "started by an operator meanwhile", answer: started, holder: "DeliverNotification"},
		{name: "another workflow has the id", answer: started, holder: "NotifyEvent",
			err: &notification.IDTakenError{WorkflowType: "NotifyEvent", TaskQueue: "herald-email"}},
	}
	for _, tt := range tests {
		server, launcher := withServer(t)
		options := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == id && o.TaskQueue == "herald-email" && o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE &&
				o.WorkflowExecutionErrorWhenAlreadyStarted && o.StaticSummary == "EMAIL to RESTAURANT_USER/10, started again by the sweep"
		})
		want := workflows.DeliverInput{DeliveryID: id, Channel: notification.Email, Policy: policy}
		server.On("ExecuteWorkflow", mock.Anything, options, mock.MatchedBy(isDeliverNotification), want).Return(nil, tt.answer).Once()
		if tt.holder != "" {
			server.On("DescribeWorkflow", mock.Anything, id, "").Return(described(tt.holder, "herald-email"), nil).Once()
		}
		lost := notification.StuckDelivery{EventID: "evt-1", EventType: "T", Aggregate: restaurant}
		lost.DeliveryID, lost.Channel, lost.UserType, lost.UserID = id, notification.Email, notification.RestaurantUser, "10"

		require.Equal(t, tt.err, launcher.StartDeliveryAgain(t.Context(), lost, policy), tt.name)
	}
}

// One call signals a delivery to its digest, and starts the digest if it does not run.
func TestJoinDigest(t *testing.T) {
	t.Parallel()

	const id = "herald-digest-staff10-EMAIL-REVIEW_POSTED"
	const item, window = "evt-1-staff10-EMAIL", 5 * time.Minute
	key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}
	input := workflows.DigestInput{Key: key, Window: window, Policy: policy}
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
	place := notification.DigestPlace{Key: key, Who: "staff", Priority: notification.Low, Window: window}
	for _, answer := range []error{nil, errors.New("no connection")} {
		server, launcher := withServer(t)
		server.On("SignalWithStartWorkflow", mock.Anything, id, "join", item, options, mock.MatchedBy(isDigest), input).Return(nil, answer).Once()

		got, err := launcher.JoinDigest(t.Context(), activities.Join{DeliveryID: item, Place: place, Policy: policy})

		require.ErrorIs(t, err, answer)
		require.Equal(t, answer == nil, got == id)
	}
}

// Batch reads the range of a batch that completed. Another workflow that has the id is no batch.
func TestBatch(t *testing.T) {
	t.Parallel()

	ids := notification.IDRange{First: 7, Last: 9}
	tests := map[string]struct {
		workflowType string
		status       enums.WorkflowExecutionStatus
		want         activities.BatchExecution
	}{
		"completed": {"DeliverBatch", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
			activities.BatchExecution{State: activities.WorkflowCompleted, IDs: ids}},
		"running":          {"DeliverBatch", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, activities.BatchExecution{State: activities.WorkflowRunning}},
		"another workflow": {"Other", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, activities.BatchExecution{}},
	}
	for name, tt := range tests {
		server, launcher := withServer(t)
		found := described(tt.workflowType, "herald-events")
		found.RawResponse.WorkflowExecutionInfo.Status = tt.status
		found.RawResponse.WorkflowExecutionInfo.Execution = &commonpb.WorkflowExecution{WorkflowId: "evt-1-batch-EMAIL-2", RunId: "run-1"}
		input, err := converter.GetDefaultDataConverter().ToPayloads(workflows.BatchInput{EventID: "evt-1", IDs: ids})
		require.NoError(t, err)
		started := &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{Input: input},
		}}
		server.On("DescribeWorkflow", mock.Anything, "evt-1-batch-EMAIL-2", "").Return(found, nil)
		server.On("GetWorkflowHistory", mock.Anything, "evt-1-batch-EMAIL-2", "run-1", false,
			allEvents).Return(&events{left: []*history.HistoryEvent{started}}).Maybe()

		got, err := launcher.Batch(t.Context(), "evt-1", notification.Email, 2)

		require.NoError(t, err, name)
		require.Equal(t, tt.want, got, name)
	}
}
