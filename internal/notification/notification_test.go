package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestDeliveryID(t *testing.T) {
	t.Parallel()

	tests := []struct {
		userType notification.UserType
		channel  notification.Channel
		want     string
	}{
		{notification.RestaurantUser, notification.Email, "evt-1-staff10-EMAIL"},
		{notification.Customer, notification.Push, "evt-1-customer10-PUSH"},
		{notification.AgencyUser, notification.SMS, "evt-1-agent10-SMS"},
		{notification.Admin, notification.Slack, "evt-1-admin10-SLACK"},
		{notification.Guest, notification.WebSocket, "evt-1-guest10-WEBSOCKET"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, notification.DeliveryID("evt-1", tt.userType, "10", tt.channel))
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()

	tests := []struct {
		channel             notification.Channel
		bestEffort, quieted bool
	}{
		{notification.WebSocket, true, false},
		{notification.Email, false, true},
		{notification.Push, false, true},
		{notification.SMS, false, true},
		{notification.Slack, true, false},
	}
	require.Len(t, notification.Channels(), len(tests))
	for i, tt := range tests {
		require.Equal(t, tt.channel, notification.Channels()[i])
		require.True(t, tt.channel.Valid())
		require.Equal(t, tt.bestEffort, tt.channel.BestEffort(), "%s", tt.channel)
		require.Equal(t, tt.quieted, tt.channel.Quieted(), "%s", tt.channel)
	}
	require.False(t, notification.Channel("email").Valid())
	require.False(t, notification.Channel("").Valid())
}

func TestAudience(t *testing.T) {
	t.Parallel()

	want := map[notification.UserType]string{
		notification.RestaurantUser: "restaurant", notification.Customer: "customer", notification.AgencyUser: "agency",
		notification.Admin: "admin", notification.Guest: "guest",
	}
	for userType, audience := range want {
		require.Equal(t, audience, userType.Audience(), "%s", userType)
	}
}

func TestRecipientAddress(t *testing.T) {
	t.Parallel()

	recipient := notification.Recipient{Email: "mail", Phone: "phone", SlackWebhookURL: "hook", HasDevice: true}
	want := map[notification.Channel]string{
		notification.WebSocket: "", notification.Email: "mail", notification.Push: "", notification.SMS: "phone", notification.Slack: "hook",
	}
	for channel, address := range want {
		require.Equal(t, address, recipient.Address(channel), "%s", channel)
	}
}
