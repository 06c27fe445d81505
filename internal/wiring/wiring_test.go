package wiring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config/environment"
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
	r := environment.NewReader(map[string]string{"FCM_BASE_URL": "http://localhost:9090", "SLACK_ALLOWED_HOSTS": "127.0.0.1:9090,hooks.slack.com"})
	wired.Read(r)
	require.NoError(t, r.Err())

	require.Equal(t, []string{"https://api.sendgrid.com"}, wired[notification.Email].Servers())
	require.Equal(t, []string{"https://api.twilio.com"}, wired[notification.SMS].Servers())
	require.Equal(t, []string{"http://localhost:9090/v1"}, wired[notification.Push].Servers())
	require.Equal(t, []string{"http://127.0.0.1:9090", "https://hooks.slack.com"}, wired[notification.Slack].Servers())
	require.Empty(t, wired[notification.WebSocket].Servers())
}
