package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestDigestKey(t *testing.T) {
	t.Parallel()

	key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}
	require.Equal(t, "staff10-EMAIL-REVIEW_POSTED", key.String())
	key.UserType, key.Channel = notification.Guest, notification.SMS
	require.Equal(t, "guest10-SMS-REVIEW_POSTED", key.String())
}

// What the items of a digest may take leaves room for the words around them.
func TestDigestBytes(t *testing.T) {
	t.Parallel()

	limits := map[notification.Channel]int{
		notification.SMS: 1600, notification.Push: 4 << 10, notification.Slack: 3000, notification.Email: 64 << 10, notification.WebSocket: 64 << 10,
	}
	for _, channel := range notification.Channels() {
		require.Positive(t, channel.DigestBytes(), channel)
		require.Less(t, channel.DigestBytes(), limits[channel], channel)
	}
}

func TestWaitText(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 22, 30, 0, 0, time.UTC) // 23:30 in Rome
	tests := []struct {
		name  string
		until time.Duration // from now
		zone  string
		why   string
		want  string
	}{
		{"today", time.Hour, "UTC", notification.WaitDelay, "23:30 UTC: delay"},
		{"today, by the recipient's clock", 20 * time.Minute, "Europe/Rome", notification.WaitQuietHours, "23:50 Europe/Rome: quiet hours"},
		{"tomorrow, by the recipient's clock", time.Hour, "Europe/Rome", notification.WaitQuietHours, "22 Nov 00:30 Europe/Rome: quiet hours"},
		{"yesterday where they are", -6 * time.Hour, "Pacific/Auckland", notification.WaitDelay, "05:30 Pacific/Auckland: delay"},
		{"the same day of another month", 30 * 24 * time.Hour, "Europe/Rome", notification.WaitDelay, "21 Dec 23:30 Europe/Rome: delay"},
		{"no zone", time.Hour, "", notification.WaitDelay, "23:30 UTC: delay"},
		{"a zone that nobody knows", time.Hour, "Europe/Atlantis", notification.WaitDelay, "23:30 UTC: delay"},
		{"a zone that is another on each machine", time.Hour, "Local", notification.WaitDelay, "23:30 UTC: delay"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, notification.WaitText(now.Add(tt.until), now, tt.zone, tt.why))
		})
	}
}
