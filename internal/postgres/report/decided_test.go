package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// What was decided outlives the event's row; only of an event that nothing is known
// of there is an error.
func TestDecided(t *testing.T) {
	t.Parallel()

	key := report.DecisionKey{EventID: "evt-1", UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email}
	r := told(t)
	got, err := r.Decided(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "RESERVATION_REQUESTED", got.EventType)
	require.Equal(t, "5", got.Outbox.AggregateID)
	require.Equal(t, "PROCESSING", string(got.Processed.Status))
	require.Equal(t, map[notification.Channel]notification.Decision{notification.Email: "SELECTED", notification.Slack: "NO_ADDRESS"}, got.Decisions)
	require.False(t, got.DecidedAt.IsZero())
	require.Equal(t, 1, got.Chosen)

	key.UserID = "404"
	got, err = r.Decided(t.Context(), key)
	require.NoError(t, err)
	require.Nil(t, got.Decisions)

	exec(t, r, "DELETE FROM event_outbox; DELETE FROM processed_event; DELETE FROM notification_decision")
	got, err = r.Decided(t.Context(), key)
	require.NoError(t, err)
	require.Nil(t, got.Outbox)
	require.Equal(t, "RESERVATION_REQUESTED", got.EventType, "by its deliveries")

	key.EventID = "evt-404"
	_, err = r.Decided(t.Context(), key)
	require.ErrorIs(t, err, notification.ErrNoEvent)
}
