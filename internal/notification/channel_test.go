package notification_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestChannels(t *testing.T) {
	t.Parallel()

	tests := []struct {
		channel                         notification.Channel
		bestEffort, quieted, needsTitle bool
		markup                          notification.Markup
		address                         string
		firstRetry                      time.Duration
	}{
		{channel: notification.WebSocket, bestEffort: true},
		{channel: notification.Email, quieted: true, markup: notification.HTML, needsTitle: true, address: "mail", firstRetry: 30 * time.Second},
		{channel: notification.Push, quieted: true, firstRetry: 10 * time.Second},
		{channel: notification.SMS, quieted: true, address: "phone", firstRetry: 5 * time.Second},
		{channel: notification.Slack, bestEffort: true, markup: notification.Mrkdwn, address: "hook"},
		{channel: notification.Webhook, address: "url", firstRetry: 10 * time.Second},
	}
	recipient := notification.Recipient{Email: "mail", Phone: "phone", SlackWebhookURL: "hook", WebhookURL: "url", HasDevice: true}
	for i, tt := range tests {
		require.Equal(t, tt.channel, notification.Channels()[i])
		require.Equal(t, tt.bestEffort, tt.channel.BestEffort(), "%s", tt.channel)
		require.Equal(t, tt.quieted, tt.channel.Quieted(), "%s", tt.channel)
		require.Equal(t, tt.markup, tt.channel.Markup(), "%s", tt.channel)
		require.Equal(t, tt.needsTitle, tt.channel.NeedsTitle(), "%s", tt.channel)
		require.Equal(t, tt.address, recipient.Address(tt.channel), "%s", tt.channel)
		require.Equal(t, tt.firstRetry, tt.channel.FirstRetry(), "%s", tt.channel)
	}
}

func TestEveryChannelHasACompleteRow(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		nobody := notification.Facts{Routing: notification.Routing{Channel: channel}}
		require.True(t, channel.Valid(), "%s", channel)
		require.Equal(t, channel.BestEffort(), channel.FirstRetry() == 0, "%s", channel)
		require.NotEmpty(t, nobody.AddressWord(), "%s", channel)
		require.Equal(t, notification.Recipient{}.Reachable(channel), notification.DecisionNoAddress.Remedy(channel) == "", "%s", channel)
		require.Equal(t, channel.AddressColumn() == "", channel.AddressExample() == "", "%s", channel)
	}
}

// A blank address is none.
func TestBlankAddress(t *testing.T) {
	t.Parallel()

	for _, blank := range []string{"", " ", "\n", "\u00a0\u3000", "\u200b\ufeff"} {
		r := notification.Recipient{Email: blank, Phone: blank, SlackWebhookURL: blank, WebhookURL: blank}
		for _, channel := range notification.Channels() {
			require.Equal(t, channel == notification.WebSocket, r.Reachable(channel), "%q over %s", blank, channel)
			require.Empty(t, r.Address(channel))
		}
	}
	require.Equal(t, " pat@example.com ", notification.Recipient{Email: " pat@example.com "}.Address(notification.Email),
		"the stored text stays")
}

func TestUnknownChannel(t *testing.T) {
	t.Parallel()

	everything := notification.Recipient{Email: "mail", Phone: "phone", SlackWebhookURL: "hook", HasDevice: true}
	for _, channel := range []notification.Channel{"", "email", "FAX"} {
		require.False(t, channel.Valid())
		require.False(t, everything.Reachable(channel))
		require.False(t, channel.BestEffort())
		require.Empty(t, everything.Address(channel))
	}
}

// A channel takes the longest message of its provider, and no longer one. Characters count as the
// provider counts them.
func TestCarries(t *testing.T) {
	t.Parallel()

	x := func(n int) string { return strings.Repeat("x", n) }
	webPush := 3993 - len(`{"delivery_id":"id","title":"T","body":"","tag":"id"}`)
	for _, tt := range []struct {
		channel notification.Channel
		text    notification.Text
		want    bool
	}{
		{notification.SMS, notification.Text{Title: x(5000), Body: strings.Repeat("é", 1600)}, true},
		{notification.SMS, notification.Text{Body: x(1601)}, false},
		{notification.Push, notification.Text{Title: "T", Body: x(webPush)}, true},
		{notification.Push, notification.Text{Title: "T", Body: x(webPush + 1)}, false},
		{notification.Push, notification.Text{Title: "T", Body: x(webPush - 8), URL: "/"}, false},
		{notification.Push, notification.Text{Title: "T", Body: strings.Repeat("\n", webPush/2+1)}, false},
		{notification.Slack, notification.Text{Title: "T", Body: x(64 << 10)}, true},
		{notification.Slack, notification.Text{Title: x(501), Body: "x"}, false},
		{notification.Webhook, notification.Text{Title: x(64 << 10), Body: x(64 << 10)}, true},
		{notification.Webhook, notification.Text{Body: strings.Repeat("<", 64<<10)}, false},
		{notification.Email, notification.Text{Title: "T", Body: x(64 << 10)}, true},
		{notification.WebSocket, notification.Text{Title: "T", Body: x(64 << 10)}, true},
	} {
		require.Equal(t, tt.want, tt.channel.Carries("id", tt.text), "%s %d", tt.channel, len(tt.text.Body))
	}
}
