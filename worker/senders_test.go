package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/wiring"
)

// workerEnvironment is the least that a worker needs, and changes to it.
func workerEnvironment(changes map[string]string) map[string]string {
	values := map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "RABBITMQ_URL": "amqp://guest:guest@localhost:5672/"}
	maps.Copy(values, changes)
	return values
}

// What is wrong with a channel stands in the one error beside all else.
func TestSettingsOfChannelsAreComplete(t *testing.T) {
	t.Parallel()

	_, err := config.From(workerEnvironment(map[string]string{
		"OUTBOX_BATCH_SIZE": "many", "SENDGRID_API_KEY": "hunter2", "TWILIO_AUTH_TOKEN": "hunter2", "FCM_PROJECT_ID": "p",
		"SLACK_ALLOWED_HOSTS": "https://hooks.slack.com", "WEBSOCKET_TIMEOUT": "1h", "PUBLIC_URL": "http://localhost",
	}), wiring.New().Read)
	wrong := []string{
		"OUTBOX_BATCH_SIZE must be", "EMAIL_FROM is not set", "GOOGLE_APPLICATION_CREDENTIALS is not set", "TWILIO_ACCOUNT_SID is not set",
		"SLACK_ALLOWED_HOSTS must be", "PUBLIC_URL must be https", "HERALD_SECRET is not set", "WEBSOCKET_TIMEOUT must be",
	}
	for _, fact := range wrong {
		require.ErrorContains(t, err, fact)
	}
	require.Len(t, strings.Split(err.Error(), "; "), len(wrong), "nothing is named twice, and nothing else is wrong")
	require.NotContains(t, err.Error(), "hunter2")
}

// A channel without credentials has no sender, and none that is not served here.
func TestSenders(t *testing.T) {
	t.Parallel()

	wired := wiring.New()
	cfg, err := config.From(workerEnvironment(map[string]string{"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "http://localhost:9090/v1"}), wired.Read)
	require.NoError(t, err)
	senders, off, err := newSenders(wired, cfg, nil, []notification.Channel{notification.WebSocket, notification.Email, notification.Push})
	require.NoError(t, err)
	require.Contains(t, senders, notification.WebSocket)
	require.Contains(t, senders, notification.Push)
	require.Len(t, senders, 2)
	require.Len(t, off, 1)
	require.ErrorContains(t, off[notification.Email], "SENDGRID_API_KEY, EMAIL_FROM")
}
