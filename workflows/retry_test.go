package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
	"herald/workflows"
)

// A fresh run has the delivery's own ID, queue and search attributes; what the
// server answers is handed on, but for a run that has not ended.
func TestRetryDelivery(t *testing.T) {
	t.Parallel()

	unavailable := serviceerror.NewUnavailable("no connection")
	restaurant := notification.Entity{Type: "RESTAURANT", ID: "5"}
	tests := []struct {
		name      string
		aggregate notification.Entity
		again     bool
		answer    error
		want      error
	}{
		{"started", restaurant, false, nil, nil},
		{"started again", restaurant, true, nil, nil},
		{"of an event that was purged", notification.Entity{}, false, nil, nil},
		{"running", restaurant, false, serviceerror.NewWorkflowExecutionAlreadyStarted("running", "", ""), workflows.ErrUnderWay},
		{"out of reach", restaurant, false, unavailable, unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

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
			starter := workflows.Starter{Client: server, Prefix: "herald"}

			got, err := starter.RetryDelivery(t.Context(), workflows.RetryInput{
				DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, EventID: "evt-1", EventType: "RESERVATION_REQUESTED",
				Aggregate: tt.aggregate, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.High, Again: tt.again,
			})

			require.ErrorIs(t, err, tt.want)
			if tt.want == nil {
				require.Equal(t, run, got)
			}
		})
	}
}

func isDeliverNotification(func(workflow.Context, workflows.DeliverInput) (workflows.DeliverResult, error)) bool {
	return true
}
