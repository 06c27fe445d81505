package config_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/notification"
)

func TestDefaults(t *testing.T) {
	t.Parallel()

	cfg, err := config.From(required())

	require.NoError(t, err)
	retried := config.Policy{MaxAttempts: 3, RetryInterval: 30 * time.Second, RetryCoefficient: 2, Timeout: 10 * time.Second}
	push, sms := retried, retried
	push.RetryInterval, sms.RetryInterval = 10*time.Second, 5*time.Second
	bestEffort := config.Policy{MaxAttempts: 1, Timeout: 10 * time.Second}
	require.Equal(t, config.Config{
		Starter: config.Starter{
			DatabaseURL:        "postgres://herald@localhost/herald",
			TaskQueuePrefix:    "herald",
			OutboxPollInterval: time.Second,
			OutboxBatchSize:    100,
			OutboxPollers:      1,
		},
		RabbitMQURL:       "amqp://guest:guest@localhost:5672/",
		PublishEvents:     true,
		WorkerHTTPAddr:    ":8081",
		SendGridBaseURL:   "https://api.sendgrid.com",
		TwilioBaseURL:     "https://api.twilio.com",
		FCMBaseURL:        "https://fcm.googleapis.com/v1",
		SlackAllowedHosts: []string{"hooks.slack.com"},
		Policies: map[notification.Channel]config.Policy{
			notification.WebSocket: bestEffort, notification.Email: retried, notification.Push: push, notification.SMS: sms, notification.Slack: bestEffort,
		},
	}, cfg)
}

func TestEverySetting(t *testing.T) {
	t.Parallel()

	cfg, err := config.From(map[string]string{
		"DATABASE_URL": "postgres://u:p@db:5433/h?sslmode=disable", "RABBITMQ_URL": "amqps://u:p@mq:5671/v", "TASK_QUEUE_PREFIX": "test-7", "ALLOW_CLEARTEXT": "true",
		"OUTBOX_POLL_INTERVAL": "250ms", "OUTBOX_BATCH_SIZE": "1000", "OUTBOX_POLLERS": "16", "PUBLISH_EVENTS": "false",
		"RABBITMQ_QUEUE_LENGTH": "1000000", "RABBITMQ_QUEUE_TTL": "720h",
		"PUBLIC_URL": "https://herald.example.com/base/", "WORKER_HTTP_ADDR": "127.0.0.1:0",
		"SENDGRID_API_KEY": "SG.key", "SENDGRID_BASE_URL": "http://127.0.0.1:9090/", "EMAIL_FROM": "herald@example.com", "EMAIL_FROM_NAME": "Herald & Co",
		"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "token", "TWILIO_FROM": "+15005550006", "TWILIO_BASE_URL": "http://127.0.0.1:9090",
		"FCM_PROJECT_ID": "herald-demo", "FCM_BASE_URL": "http://127.0.0.1:9090/v1", "GOOGLE_APPLICATION_CREDENTIALS": "key.json",
		"SLACK_ALLOWED_HOSTS": "Hooks.Slack.com, 127.0.0.1:9090,[::1]:9090",
		"EMAIL_MAX_ATTEMPTS":  "5", "EMAIL_RETRY_INTERVAL": "10ms", "EMAIL_RETRY_COEFFICIENT": "1.5", "EMAIL_TIMEOUT": "60s", "EMAIL_RATE_LIMIT": "0.5",
		"WEBSOCKET_TIMEOUT": "1s", "SLACK_RATE_LIMIT": "1",
	})

	require.NoError(t, err)
	require.Equal(t, config.Config{
		Starter: config.Starter{
			DatabaseURL: "postgres://u:p@db:5433/h?sslmode=disable", TaskQueuePrefix: "test-7", AllowCleartext: true,
			OutboxPollInterval: 250 * time.Millisecond, OutboxBatchSize: 1000, OutboxPollers: 16,
		},
		RabbitMQURL: "amqps://u:p@mq:5671/v", QueueLength: 1_000_000, QueueTTL: 720 * time.Hour, PublishEvents: false, PublicURL: "https://herald.example.com/base", WorkerHTTPAddr: "127.0.0.1:0",
		SendGridAPIKey: "SG.key", SendGridBaseURL: "http://127.0.0.1:9090", EmailFrom: "herald@example.com", EmailFromName: "Herald & Co",
		TwilioAccountSID: "AC1", TwilioAuthToken: "token", TwilioFrom: "+15005550006", TwilioBaseURL: "http://127.0.0.1:9090",
		FCMProjectID: "herald-demo", FCMBaseURL: "http://127.0.0.1:9090/v1", GoogleCredentials: "key.json",
		SlackAllowedHosts: []string{"hooks.slack.com", "127.0.0.1:9090", "[::1]:9090"},
		Policies: map[notification.Channel]config.Policy{
			notification.WebSocket: {MaxAttempts: 1, Timeout: time.Second},
			notification.Email:     {MaxAttempts: 5, RetryInterval: 10 * time.Millisecond, RetryCoefficient: 1.5, Timeout: time.Minute, RateLimit: 0.5},
			notification.Push:      {MaxAttempts: 3, RetryInterval: 10 * time.Second, RetryCoefficient: 2, Timeout: 10 * time.Second},
			notification.SMS:       {MaxAttempts: 3, RetryInterval: 5 * time.Second, RetryCoefficient: 2, Timeout: 10 * time.Second},
			notification.Slack:     {MaxAttempts: 1, Timeout: 10 * time.Second, RateLimit: 1},
		},
	}, cfg)
	for _, channel := range notification.Channels() {
		require.Empty(t, cfg.Off(channel))
	}
}

// An empty setting is one that is not set, as in `EMAIL_FROM=` of a compose file.
func TestEmptyIsUnset(t *testing.T) {
	t.Parallel()

	want, err := config.From(required())
	require.NoError(t, err)
	empty := required()
	for _, key := range []string{
		"TASK_QUEUE_PREFIX", "ALLOW_CLEARTEXT", "OUTBOX_POLL_INTERVAL", "OUTBOX_BATCH_SIZE", "OUTBOX_POLLERS", "PUBLISH_EVENTS", "RABBITMQ_QUEUE_LENGTH", "RABBITMQ_QUEUE_TTL", "PUBLIC_URL", "WORKER_HTTP_ADDR",
		"SENDGRID_API_KEY", "SENDGRID_BASE_URL", "EMAIL_FROM", "EMAIL_FROM_NAME", "TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_FROM",
		"TWILIO_BASE_URL", "FCM_PROJECT_ID", "FCM_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS", "SLACK_ALLOWED_HOSTS", "EMAIL_MAX_ATTEMPTS",
		"PUSH_RETRY_INTERVAL", "SMS_RETRY_COEFFICIENT", "WEBSOCKET_TIMEOUT", "SLACK_RATE_LIMIT", "SLACK_MAX_ATTEMPTS",
	} {
		empty[key] = ""
	}
	got, err := config.From(empty)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestOff(t *testing.T) {
	t.Parallel()

	cfg, err := config.From(required())
	require.NoError(t, err)
	want := map[notification.Channel]string{
		notification.WebSocket: "", notification.Email: "SENDGRID_API_KEY is not set", notification.Push: "FCM_PROJECT_ID is not set",
		notification.SMS: "TWILIO_ACCOUNT_SID is not set", notification.Slack: "",
	}
	for channel, reason := range want {
		require.Equal(t, reason, cfg.Off(channel), "%s", channel)
	}
}

func TestStarter(t *testing.T) {
	t.Parallel()

	cfg, err := config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "OUTBOX_POLLERS": "2", "EMAIL_FROM": "nonsense"})
	require.NoError(t, err, "what it does not need does not matter")
	require.Equal(t, config.Starter{
		DatabaseURL: "postgres://herald@localhost/herald", TaskQueuePrefix: "herald",
		OutboxPollInterval: time.Second, OutboxBatchSize: 100, OutboxPollers: 2,
	}, cfg)

	cfg, err = config.StarterFrom(map[string]string{"OUTBOX_POLLERS": "0"})
	require.EqualError(t, err, "settings: DATABASE_URL is not set; OUTBOX_POLLERS must be from 1 to 16")
	require.Empty(t, cfg)
}

// required is the least that the worker needs.
func required() map[string]string {
	return map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "RABBITMQ_URL": "amqp://guest:guest@localhost:5672/"}
}

func with(changes map[string]string) map[string]string {
	all := required()
	maps.Copy(all, changes)
	return all
}
