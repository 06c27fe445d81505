package wiring_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/config/environment"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/wiring"
)

func TestEveryChannelIsWired(t *testing.T) {
	t.Parallel()

	require.NoError(t, wiring.New().Complete())
	require.Len(t, wiring.New(), len(notification.Channels()))
	for _, channel := range notification.Channels() {
		wired := wiring.New()
		delete(wired, channel)
		require.ErrorContains(t, wired.Complete(), string(channel))
	}
}

func TestServers(t *testing.T) {
	t.Parallel()

	wired := wiring.New()
	r := environment.NewReader(map[string]string{"SLACK_ALLOWED_HOSTS": "127.0.0.1:9090,hooks.slack.com"})
	wired.Read(r)
	require.NoError(t, r.Err())

	require.Empty(t, wired[notification.Email].Servers(), "a channel that is off has no servers")
	require.Empty(t, wired[notification.SMS].Servers())
	require.Equal(t, []string{"http://127.0.0.1:9090", "https://hooks.slack.com"}, wired[notification.Slack].Servers())
	require.Empty(t, wired[notification.WebSocket].Servers())
}

// A channel tries the providers that are on, in the order of New or of the setting.
func TestOrderOfProviders(t *testing.T) {
	t.Parallel()

	sendGrid := map[string]string{"SENDGRID_API_KEY": "key", "EMAIL_FROM": "herald@example.com"}
	smtp := map[string]string{"SMTP_URL": "smtps://mail.example.com", "EMAIL_FROM": "herald@example.com"}
	tests := []struct {
		name    string
		set     []map[string]string
		order   string
		want    []string // nil: the channel is off
		problem string
	}{
		{name: "no provider on", problem: "SENDGRID_API_KEY, EMAIL_FROM are not set, nor is SMTP_URL"},
		{name: "one provider on", set: []map[string]string{smtp}, want: []string{"smtp"}},
		{name: "both providers on", set: []map[string]string{smtp, sendGrid}, want: []string{"sendgrid", "smtp"}},
		{name: "another order", set: []map[string]string{smtp, sendGrid}, order: "smtp, sendgrid", want: []string{"smtp", "sendgrid"}},
		{name: "order names one of two", set: []map[string]string{smtp, sendGrid}, order: "smtp", want: []string{"smtp"}},
		{name: "order names a provider that is off", set: []map[string]string{sendGrid}, order: "sendgrid,smtp",
			problem: "EMAIL_PROVIDERS names smtp, and SMTP_URL is not set"},
	}
	for _, tt := range tests {
		values := map[string]string{"EMAIL_PROVIDERS": tt.order}
		for _, set := range tt.set {
			maps.Copy(values, set)
		}
		wired, r := wiring.New(), environment.NewReader(values)
		wired.Read(r)
		require.NoError(t, r.Err(), tt.name)
		sender, err := wired[notification.Email].NewSender(channel.Process{Timeout: time.Second, Slots: 1}, wiring.Limits{})
		if tt.problem != "" {
			var off *channel.OffError
			require.ErrorAs(t, err, &off)
			require.EqualError(t, err, tt.problem, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		require.ElementsMatch(t, tt.want, slices.Collect(maps.Keys(sender.(*limit.Failover).OpenCircuits())), tt.name)
		require.Len(t, wired[notification.Email].Servers(), len(tt.want), tt.name)
		if tt.order != "" {
			require.Equal(t, tt.want[0], wired[notification.Email].All[0].Name, tt.name)
		}
	}
}

func TestWrongRateLimits(t *testing.T) {
	t.Parallel()

	for _, limit := range []string{"-1", "NaN", "+Inf", "ten"} {
		r := environment.NewReader(map[string]string{"TWILIO_RATE_LIMIT": limit, "RABBITMQ_RATE_LIMIT": limit})
		wiring.New().Read(r)
		require.EqualError(t, r.Err(), "settings: TWILIO_RATE_LIMIT must be a number of messages a second, or 0 for no limit", limit)
	}
}

func TestWrongOrderOfProviders(t *testing.T) {
	t.Parallel()

	for _, order := range []string{"sendgrid,sendgrid", "mailgun", "smtp,", "SMTP"} {
		r := environment.NewReader(map[string]string{"EMAIL_PROVIDERS": order})
		wiring.New().Read(r)
		require.ErrorContains(t, r.Err(), "EMAIL_PROVIDERS must name each provider at most once, with commas between them: sendgrid, smtp", order)
	}
}
