package notification_test

import (
	"testing"

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
