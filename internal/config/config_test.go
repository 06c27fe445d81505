package config_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/environment"
	"herald/internal/notification"
	"herald/internal/outboxes"
)

func TestDefaults(t *testing.T) {
	t.Parallel()

	cfg, err := from(required())

	require.NoError(t, err)
	require.Equal(t, config.Config{
		Starter: config.Starter{
			DatabaseURL:        "postgres://herald@localhost/herald",
			TaskQueuePrefix:    "herald",
			OutboxPollInterval: time.Second,
			OutboxBatchSize:    100,
			OutboxPollers:      1,
			Sources:            []outboxes.Source{herald()},
		},
		RabbitMQURL:    "amqp://guest:guest@localhost:5672/",
		PublishEvents:  true,
		BulkThreshold:  1000,
		WorkerHTTPAddr: ":8081",
		WorkerPromote:  config.PromoteAuto,
		Policies:       cfg.Policies, // see TestDefaultPolicies
	}, cfg)
}

func TestDefaultPolicies(t *testing.T) {
	t.Parallel()

	cfg, err := from(required())

	require.NoError(t, err)
	for _, channel := range notification.Channels() {
		want := config.Policy{MaxAttempts: 3, RetryInterval: channel.FirstRetry(), RetryCoefficient: 2, Timeout: 10 * time.Second}
		if channel.BestEffort() {
			want = config.Policy{MaxAttempts: 1, Timeout: 10 * time.Second}
		}
		require.Equal(t, want, cfg.Policies[channel], "%s", channel)
	}
}

func TestEverySetting(t *testing.T) {
	t.Parallel()

	cfg, err := from(map[string]string{
		"DATABASE_URL": "postgres://u:p@db:5433/h?sslmode=disable", "RABBITMQ_URL": "amqps://u:p@mq:5671/v", "TASK_QUEUE_PREFIX": "test-7", "ALLOW_CLEARTEXT": "true",
		"OUTBOX_POLL_INTERVAL": "250ms", "OUTBOX_BATCH_SIZE": "1000", "OUTBOX_POLLERS": "16", "PUBLISH_EVENTS": "false", "BULK_THRESHOLD": "0",
		"RABBITMQ_QUEUE_LENGTH": "1000000", "RABBITMQ_QUEUE_TTL": "720h",
		"PUBLIC_URL": "https://herald.example.com/base/", "HERALD_SECRET": heraldSecret, "WORKER_HTTP_ADDR": "127.0.0.1:0", "WORKER_PROMOTE": "manual",
		"EMAIL_MAX_ATTEMPTS": "5", "EMAIL_RETRY_INTERVAL": "10ms", "EMAIL_RETRY_COEFFICIENT": "1.5", "EMAIL_TIMEOUT": "60s", "EMAIL_RATE_LIMIT": "0.5",
		"WEBSOCKET_TIMEOUT": "1s", "SLACK_RATE_LIMIT": "1",
	})

	require.NoError(t, err)
	require.Equal(t, config.Config{
		Starter: config.Starter{
			DatabaseURL: "postgres://u:p@db:5433/h?sslmode=disable", TaskQueuePrefix: "test-7", AllowCleartext: true, Secret: heraldSecret,
			OutboxPollInterval: 250 * time.Millisecond, OutboxBatchSize: 1000, OutboxPollers: 16,
			Sources: cfg.Sources, // see TestSources
		},
		RabbitMQURL: "amqps://u:p@mq:5671/v", QueueLength: 1_000_000, QueueTTL: 720 * time.Hour, PublishEvents: false, PublicURL: "https://herald.example.com/base", WorkerHTTPAddr: "127.0.0.1:0",
		WorkerPromote: config.PromoteManual, Policies: cfg.Policies,
	}, cfg)
	require.Equal(t, config.Policy{MaxAttempts: 1, Timeout: time.Second}, cfg.Policies[notification.WebSocket])
	require.Equal(t, config.Policy{MaxAttempts: 5, RetryInterval: 10 * time.Millisecond, RetryCoefficient: 1.5, Timeout: time.Minute, RateLimit: 0.5}, cfg.Policies[notification.Email])
	require.Equal(t, config.Policy{MaxAttempts: 1, Timeout: 10 * time.Second, RateLimit: 1}, cfg.Policies[notification.Slack])
}

// An empty setting counts as not set, as `PUBLIC_URL=` in a compose file.
func TestEmptyIsUnset(t *testing.T) {
	t.Parallel()

	want, err := from(required())
	require.NoError(t, err)
	empty := required()
	for _, key := range []string{
		"TASK_QUEUE_PREFIX", "ALLOW_CLEARTEXT", "OUTBOX_POLL_INTERVAL", "OUTBOX_BATCH_SIZE", "OUTBOX_POLLERS", "OUTBOX_SOURCES", "PUBLISH_EVENTS", "BULK_THRESHOLD", "RABBITMQ_QUEUE_LENGTH", "RABBITMQ_QUEUE_TTL", "PUBLIC_URL", "HERALD_SECRET", "WORKER_HTTP_ADDR", "WORKER_PROMOTE",
		"EMAIL_MAX_ATTEMPTS", "PUSH_RETRY_INTERVAL", "SMS_RETRY_COEFFICIENT", "WEBSOCKET_TIMEOUT", "SLACK_RATE_LIMIT", "SLACK_MAX_ATTEMPTS",
	} {
		empty[key] = ""
	}
	got, err := from(empty)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// The settings of the senders are read with the others: the same error names what
// is wrong with them, and the providers that they use decide about PUBLIC_URL.
func TestSendersReadTheirSettings(t *testing.T) {
	t.Parallel()

	elsewhere := func(r *environment.Reader) {
		r.ProviderURL("BASE_URL", "https://api.example.com", true)
		r.Refuse("EMAIL_FROM", "is wrong")
	}
	_, err := config.From(with(map[string]string{"OUTBOX_POLLERS": "0", "PUBLIC_URL": "http://localhost:8080", "SMS_TIMEOUT": "1h"}), elsewhere)
	wrong := []string{"OUTBOX_POLLERS must be", "EMAIL_FROM is wrong", "PUBLIC_URL must be https", "HERALD_SECRET is not set, but PUBLIC_URL is", "SMS_TIMEOUT must be"}
	for _, fact := range wrong {
		require.ErrorContains(t, err, fact)
	}
	require.Len(t, strings.Split(err.Error(), "; "), len(wrong))
	_, err = from(with(map[string]string{"PUBLIC_URL": "http://localhost:8080", "HERALD_SECRET": heraldSecret}))
	require.NoError(t, err)
	_, err = from(with(map[string]string{"HERALD_SECRET": "short"}))
	require.EqualError(t, err, "settings: HERALD_SECRET must have 32 bytes or more, such as those of `openssl rand -base64 32`")
}

func TestStarter(t *testing.T) {
	t.Parallel()

	cfg, err := config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "OUTBOX_POLLERS": "2", "PUBLIC_URL": "nonsense"})
	require.NoError(t, err, "what it does not need does not matter")
	require.Equal(t, config.Starter{
		DatabaseURL: "postgres://herald@localhost/herald", TaskQueuePrefix: "herald",
		OutboxPollInterval: time.Second, OutboxBatchSize: 100, OutboxPollers: 2, Sources: cfg.Sources,
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

// from returns the settings of a worker without senders.
func from(values map[string]string) (config.Config, error) {
	return config.From(values, func(*environment.Reader) {})
}
