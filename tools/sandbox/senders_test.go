package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/channel/push/fcm"
	"herald/internal/channel/slack"
	"herald/internal/channel/sms/twilio"
	"herald/internal/channel/webhook"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

// Herald's senders, with the providers' SDKs, understand the sandbox.
func TestSenders(t *testing.T) {
	t.Parallel()

	b := start(t)
	tests := map[notification.Channel]struct {
		settings  channeltest.SenderSettings
		good, bad string // addresses
		code      string // of the rejection; empty: SendGrid and receivers have no codes
	}{
		notification.Email:   {settings: &sendgrid.Settings{APIKey: "key", BaseURL: b.URL, From: email.From{Address: "herald@example.com"}}, good: "ada@example.com", bad: "ada@example"},
		notification.SMS:     {settings: &twilio.Settings{AccountSID: "AC123", AuthToken: "token", From: "+15005550006", BaseURL: b.URL}, good: "+15551234567", bad: "+15005550009", code: "21614"},
		notification.Push:    {settings: &fcm.Settings{ProjectID: "demo", BaseURL: b.URL}, good: "device-1", bad: "dead-1", code: "no working device"},
		notification.Slack:   {settings: &slack.Settings{AllowedHosts: []string{"127.0.0.1"}}, good: b.URL + slackPath, bad: b.URL + "/services/T1/B1/none-1", code: "no_service"},
		notification.Webhook: {settings: &webhook.Settings{AllowedHosts: []string{"127.0.0.1"}, Secret: sandbox.WebhookSecret}, good: b.URL + "/hooks/x", bad: b.URL + "/hooks/gone"},
	}
	for channel, tt := range tests {
		sender := channeltest.NewSender(t, tt.settings, time.Minute)
		msg := channeltest.Message(1)
		msg.DeliveryID = string(channel)
		msg.To, msg.Devices = tt.good, []string{tt.good}
		receipt, err := sender.Send(t.Context(), msg)
		require.NoError(t, err)
		require.Equal(t, channel != notification.Slack && channel != notification.Webhook, receipt.ProviderID != "", "only webhooks give no id")
		msg.To, msg.Devices = tt.bad, []string{tt.bad}
		_, err = sender.Send(t.Context(), msg)
		var failure *notification.ProviderError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, notification.Refused, failure.Class)
		require.Equal(t, tt.code, failure.Code)

		entries := b.entries(t, "")
		sent := entries[len(entries)-2:]
		require.Equal(t, msg.DeliveryID, sent[0].DeliveryID)
		require.True(t, sent[0].Accepted)
		require.False(t, sent[1].Accepted)
	}
}
