package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// An unsubscribe switches off the category, or the channel where there is none, as the inbox
// would; what is mandatory stays on, and says so.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	const categories, channels = "SELECT category || ' ' || channel_type FROM user_category_preferences WHERE user_id = '7' AND NOT enabled",
		"SELECT channel_type FROM user_notification_preferences WHERE user_id = '7' AND NOT enabled"
	tests := []struct {
		name       string
		category   string
		channel    notification.Channel
		mandatory  string // what the error says; empty: there is none
		categories []string
		channels   []string
	}{
		{name: "category", category: "offers", channel: notification.Email, categories: []string{"offers EMAIL"}},
		{name: "channel", channel: notification.Email, channels: []string{"EMAIL"}},
		{name: "category that nothing belongs to any more", category: "gone", channel: notification.Email, categories: []string{"gone EMAIL"}},
		{name: "mandatory category", category: "orders", channel: notification.Email, mandatory: "orders over EMAIL is mandatory"},
		{name: "mandatory channel", channel: notification.WebSocket, mandatory: "WEBSOCKET cannot be switched off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := withCategories(t)
			exec(t, s, "INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled) VALUES ('CUSTOMER', '7', 'offers', 'EMAIL', true)")
			for range 2 {
				err := s.Unsubscribe(t.Context(), customer7, tt.category, tt.channel)
				if tt.mandatory != "" {
					var refused *notification.PreferenceError
					require.ErrorAs(t, err, &refused)
					require.ErrorContains(t, err, tt.mandatory)
				} else {
					require.NoError(t, err)
				}
				require.ElementsMatch(t, tt.categories, list(t, s, categories))
				require.ElementsMatch(t, tt.channels, list(t, s, channels))
			}
		})
	}
}

// A provider's unsubscribe does the same, once: what the recipient has undone in their inbox
// since then stays undone when the provider repeats itself.
func TestReceiptUnsubscribes(t *testing.T) {
	t.Parallel()

	s := sentMail(t)
	receipt := notification.Receipt{Provider: notification.SendGrid, ID: "r-1", DeliveryID: mail, MessageID: "m", Word: "unsubscribe", At: day, Unsubscribes: true}
	record(t, s, receipt)
	require.Equal(t, []string{"EMAIL 10"}, list(t, s, "SELECT channel_type || ' ' || user_id FROM user_notification_preferences WHERE NOT enabled"))

	exec(t, s, "INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_REQUESTED', 'reservations')")
	receipt.ID = "r-2"
	record(t, s, receipt)
	require.Equal(t, []string{"reservations EMAIL 10"}, list(t, s, "SELECT category || ' ' || channel_type || ' ' || user_id FROM user_category_preferences WHERE NOT enabled"))

	exec(t, s, "UPDATE user_category_preferences SET enabled = true")
	require.True(t, record(t, s, receipt)[0].Repeated)
	require.True(t, get[bool](t, s, "SELECT enabled FROM user_category_preferences"))
	require.Equal(t, "SENT", delivery(t, s, mail).Status)
}
