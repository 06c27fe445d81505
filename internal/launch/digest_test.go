package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// A digest is told of its item in the call that starts it, where it does not run.
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
		server := mocks.NewClient(t)
		server.On("SignalWithStartWorkflow", mock.Anything, id, "join", item, options, mock.MatchedBy(isDigest), input).Return(nil, answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		got, err := launcher.JoinDigest(t.Context(), activities.Join{DeliveryID: item, Place: place, Policy: policy})

		require.ErrorIs(t, err, answer)
		require.Equal(t, answer == nil, got == id)
	}
}
