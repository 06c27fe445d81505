package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestDigestKey(t *testing.T) {
	t.Parallel()

	key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}
	require.Equal(t, "staff10-EMAIL-REVIEW_POSTED", key.Name("staff"))
}
