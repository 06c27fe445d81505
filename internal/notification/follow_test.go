package notification_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestWithAddress(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		to := notification.Recipient{}.WithAddress(channel, "x")
		for _, other := range notification.Channels() {
			require.Equal(t, channel == other && channel.AddressColumn() != "", to.Address(other) == "x", "%s, %s", channel, other)
		}
	}
}

func TestCanBeMuted(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		entity notification.Entity
		want   bool
	}{
		{notification.Entity{Type: "RESTAURANT", ID: "5"}, true},
		{notification.Entity{Type: "ORDER", ID: "a/b c é"}, true},
		{notification.Entity{Type: strings.Repeat("R", 60), ID: strings.Repeat("5", 64)}, true},
		{notification.Entity{Type: strings.Repeat("R", 61), ID: "5"}, false},
		{notification.Entity{Type: "ORDER", ID: strings.Repeat("5", 65)}, false},
		{notification.Entity{Type: "ORDER", ID: "5\n"}, false},
		{notification.Entity{Type: "ORDER", ID: "\xff"}, false},
		{notification.Entity{Type: "ORDER"}, false},
		{notification.Entity{ID: "5"}, false},
		{notification.Entity{Type: notification.EntityCustomer, ID: "5"}, false},
		{notification.Entity{Type: notification.EntityAdmin, ID: "5"}, false},
		{notification.Entity{Type: notification.EntityBroadcast, ID: "5"}, false},
	} {
		require.Equal(t, tt.want, tt.entity.CanBeMuted(), tt.entity)
		require.Equal(t, tt.want, tt.entity.CanBeMutedBy(notification.RecipientKey{UserType: "PATIENT", UserID: "7"}), tt.entity)
	}
	patient := notification.Entity{Type: "PATIENT", ID: "7"}
	require.True(t, patient.CanBeMutedBy(notification.RecipientKey{UserType: "DOCTOR", UserID: "7"}))
	require.False(t, patient.CanBeMutedBy(notification.RecipientKey{UserType: "PATIENT", UserID: "7"}))
}
