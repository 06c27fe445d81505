package config_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/relay"
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
			Sources:            []relay.Source{herald()},
		},
		RabbitMQURL:    "amqp://guest:guest@localhost:5672/",
		PublishEvents:  true,
		BulkThreshold:  1000,
		WorkerHTTPAddr: ":8081",
		WorkerPromote:  config.PromoteAuto, Restore: config.RestoreManual,
		Policies: cfg.Policies,
	}, cfg)
	for _, channel := range notification.Channels() {
		want := config.Policy{
			MaxAttempts: 3, RetryInterval: channel.FirstRetry(), RetryCoefficient: 2, Outage: time.Hour, Timeout: 10 * time.Second,
		}
		if channel.BestEffort() {
			want = config.Policy{MaxAttempts: 1, Outage: time.Hour, Timeout: 10 * time.Second}
		}
		require.Equal(t, want, cfg.Policies[channel], "%s", channel)
	}
}

func TestEverySetting(t *testing.T) {
	t.Parallel()

	cfg, err := from(map[string]string{
		"DATABASE_URL": "postgres://u:p@db:5433/h?sslmode=disable", "RABBITMQ_URL": "amqps://u:p@mq:5671/v", "TASK_QUEUE_PREFIX": "test-7",
		"ALLOW_CLEARTEXT":      "true",
		"OUTBOX_POLL_INTERVAL": "250ms", "OUTBOX_BATCH_SIZE": "1000", "OUTBOX_POLLERS": "16", "PUBLISH_EVENTS": "false", "BULK_THRESHOLD": "0",
		"RABBITMQ_QUEUE_LENGTH": "1000000", "RABBITMQ_QUEUE_TTL": "720h",
		"RETENTION_EVENTS": "720h", "RETENTION_EVENT_IDS": "87600h", "RETENTION_NOTIFICATIONS": "1h", "RETENTION_ACTIONS": "8760h",
		"RETENTION_PREFERENCES": "8761h",
		"PUBLIC_URL":            "https://herald.example.com/base/", "HERALD_SECRET": heraldSecret, "WORKER_HTTP_ADDR": "127.0.0.1:0",
		"WORKER_PROMOTE":     "manual",
		"RESTORE":            "auto",
		"EMAIL_MAX_ATTEMPTS": "5", "EMAIL_RETRY_INTERVAL": "10ms", "EMAIL_RETRY_COEFFICIENT": "1.5", "EMAIL_OUTAGE": "0", "EMAIL_TIMEOUT": "60s",
		"EMAIL_RATE_LIMIT":  "0.5",
		"WEBSOCKET_TIMEOUT": "1s", "WEBSOCKET_OUTAGE": "24h", "SLACK_RATE_LIMIT": "1",
	})

	require.NoError(t, err)
	require.Equal(t, config.Config{
		Starter: config.Starter{
			DatabaseURL: "postgres://u:p@db:5433/h?sslmode=disable", TaskQueuePrefix: "test-7", AllowCleartext: true, Secret: heraldSecret,
			OutboxPollInterval: 250 * time.Millisecond, OutboxBatchSize: 1000, OutboxPollers: 16, RetentionEvents: 720 * time.Hour,
			Sources: cfg.Sources, // see TestSources
		},
		RabbitMQURL: "amqps://u:p@mq:5671/v", QueueLength: 1_000_000, QueueTTL: 720 * time.Hour, PublishEvents: false,
		PublicURL: "https://herald.example.com/base", WorkerHTTPAddr: "127.0.0.1:0",
		RetentionEventIDs: 87600 * time.Hour, RetentionNotifications: time.Hour, RetentionActions: 8760 * time.Hour,
		RetentionPreferences: 8761 * time.Hour,
		WorkerPromote:        config.PromoteManual, Restore: config.RestoreAuto, Policies: cfg.Policies,
	}, cfg)
	require.Equal(t, config.Policy{MaxAttempts: 1, Outage: 24 * time.Hour, Timeout: time.Second}, cfg.Policies[notification.WebSocket])
	require.Equal(t,
		config.Policy{MaxAttempts: 5, RetryInterval: 10 * time.Millisecond, RetryCoefficient: 1.5, Timeout: time.Minute, RateLimit: 0.5},
		cfg.Policies[notification.Email])
	require.Equal(t, config.Policy{MaxAttempts: 1, Outage: time.Hour, Timeout: 10 * time.Second, RateLimit: 1},
		cfg.Policies[notification.Slack])
}

// An empty setting, such as `PUBLIC_URL=` in a compose file, counts as not set.
func TestEmptyIsUnset(t *testing.T) {
	t.Parallel()

	want, err := from(required())
	require.NoError(t, err)
	empty := required()
	for _, key := range []string{
		"TASK_QUEUE_PREFIX", "ALLOW_CLEARTEXT", "OUTBOX_POLL_INTERVAL", "OUTBOX_BATCH_SIZE", "OUTBOX_POLLERS", "OUTBOX_SOURCES",
		"PUBLISH_EVENTS", "BULK_THRESHOLD", "RABBITMQ_QUEUE_LENGTH", "RABBITMQ_QUEUE_TTL", "PUBLIC_URL", "HERALD_SECRET", "WORKER_HTTP_ADDR",
		"WORKER_PROMOTE", "RESTORE",
		"EMAIL_MAX_ATTEMPTS", "PUSH_RETRY_INTERVAL", "SMS_RETRY_COEFFICIENT", "WEBSOCKET_TIMEOUT", "SLACK_RATE_LIMIT", "SLACK_MAX_ATTEMPTS",
	} {
		empty[key] = ""
	}
	got, err := from(empty)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// The settings of the senders are read with the others. The same error names their mistakes, and
// their providers determine whether PUBLIC_URL must be https.
func TestSendersReadTheirSettings(t *testing.T) {
	t.Parallel()

	elsewhere := func(r *environment.Reader) {
		r.ProviderURL("BASE_URL", "https://api.example.com", true)
		r.Refuse("EMAIL_FROM", "is wrong")
	}
	_, err := config.From(with(map[string]string{"OUTBOX_POLLERS": "0", "PUBLIC_URL": "http://localhost:8080", "SMS_TIMEOUT": "1h"}),
		elsewhere)
	wrong := []string{
		"OUTBOX_POLLERS must be", "EMAIL_FROM is wrong", "PUBLIC_URL must be https", "HERALD_SECRET is not set, but PUBLIC_URL is",
		"SMS_TIMEOUT must be",
	}
	for _, fact := range wrong {
		require.ErrorContains(t, err, fact)
	}
	require.Len(t, strings.Split(err.Error(), "; "), len(wrong))
	_, err = from(with(map[string]string{"PUBLIC_URL": "http://localhost:8080", "HERALD_SECRET": heraldSecret}))
	require.NoError(t, err)
	_, err = from(with(map[string]string{"HERALD_SECRET": "short"}))
	require.EqualError(t, err, "settings: HERALD_SECRET must have 32 bytes or more: make it with `openssl rand -base64 32`")
}

func TestStarter(t *testing.T) {
	t.Parallel()

	cfg, err := config.StarterFrom(map[string]string{
		"DATABASE_URL": "postgres://herald@localhost/herald", "OUTBOX_POLLERS": "2", "PUBLIC_URL": "nonsense",
	})
	require.NoError(t, err, "mistakes in settings that starter does not read do not matter")
	require.Equal(t, config.Starter{
		DatabaseURL: "postgres://herald@localhost/herald", TaskQueuePrefix: "herald",
		OutboxPollInterval: time.Second, OutboxBatchSize: 100, OutboxPollers: 2, Sources: cfg.Sources,
	}, cfg)

	cfg, err = config.StarterFrom(map[string]string{"OUTBOX_POLLERS": "0"})
	require.EqualError(t, err, "settings: DATABASE_URL is not set; OUTBOX_POLLERS must be from 1 to 16")
	require.Empty(t, cfg)
}

// required returns the required settings of the worker.
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

// The tests of package environment cover values that cannot be parsed, and both ends of a range.
func TestBadSettings(t *testing.T) {
	t.Parallel()

	const (
		databases = " must be a Postgres URL such as postgres://user:password@host:5432/herald, with %2F for / in the password, %3F for ?, %23 " +
			"for # and %25 for %"
		brokers = " must be a URL such as amqp://user:password@host:5672/"
		prefix  = " must have 1 to 50 characters of a-z, 0-9 and -"
		rate    = " must be a number of messages a second, or 0 for no limit"
	)
	tests := []struct{ key, value, want string }{
		{key: "DATABASE_URL", want: " is empty"},
		{key: "DATABASE_URL", value: "hunter2", want: databases},
		{key: "DATABASE_URL", value: "mysql://u:hunter2@h/d", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:hunter2@h/d?sslmode=perhaps", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:hunter/2@localhost/d", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:5432/hunter2@localhost/d", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:5432?hunter2@localhost/d", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:5432#hunter2@localhost/d", want: databases},
		{key: "DATABASE_URL", value: "postgres://u:hunter%2@localhost/d", want: databases},
		{key: "DATABASE_URL", value: "Postgres://u:hunter2@localhost/d?sslmode=disable", want: databases},
		{key: "DATABASE_URL", value: "host=localhost password=hunter 2", want: databases},
		{key: "RABBITMQ_URL", want: " is empty"},
		{key: "RABBITMQ_URL", value: "http://u:hunter2@h/", want: brokers},
		{key: "RABBITMQ_QUEUE_LENGTH", value: "-1", want: " must be from 0 to 100000000"},
		{key: "RABBITMQ_QUEUE_TTL", value: "999ms", want: " must be from 1s to 1080h0m0s"},
		{key: "TASK_QUEUE_PREFIX", value: "Herald", want: prefix},
		{key: "TASK_QUEUE_PREFIX", value: "herald_1", want: prefix},
		{key: "TASK_QUEUE_PREFIX", value: strings.Repeat("h", 51), want: prefix},
		{key: "OUTBOX_POLL_INTERVAL", value: "99ms", want: " must be from 100ms to 1m0s"},
		{key: "OUTBOX_BATCH_SIZE", value: "0", want: " must be from 1 to 1000"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "myapp:",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "my app",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "9app",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "javascript",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "DATA",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "myapp,",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "myapp,vbscript",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "TEMPLATE_LINK_SCHEMES", value: "myapp://",
			want: " must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data"},
		{key: "OUTBOX_POLLERS", value: "-1", want: " must be from 1 to 16"},
		{key: "RETENTION_EVENTS", value: "59m", want: " must be from 1h0m0s to 87600h0m0s"},
		{key: "RETENTION_EVENT_IDS", value: "87601h", want: " must be from 1h0m0s to 87600h0m0s"},
		{key: "RETENTION_NOTIFICATIONS", value: "-1h", want: " must be from 1h0m0s to 87600h0m0s"},
		{key: "RETENTION_PREFERENCES", value: "1m", want: " must be from 1h0m0s to 87600h0m0s"},
		{key: "RETENTION_ACTIONS", value: "30d", want: " must be a duration such as 30s"},
		{key: "BULK_THRESHOLD", value: "-1", want: " must be from 0 to 100000000"},
		{key: "WORKER_HTTP_ADDR", value: "8081", want: " must be host:port or :port"},
		{key: "WORKER_HTTP_ADDR", value: ":http", want: " must be host:port or :port"},
		{key: "WORKER_HTTP_ADDR", value: ":65536", want: " must be host:port or :port"},
		{key: "WORKER_PROMOTE", value: "never", want: " must be auto or manual"},
		{key: "RESTORE", value: "never", want: " must be manual or auto"},
		{key: "EMAIL_MAX_ATTEMPTS", value: "0", want: " must be from 1 to 100"},
		{key: "PUSH_RETRY_INTERVAL", value: "9ms", want: " must be from 10ms to 1h0m0s"},
		{key: "SMS_RETRY_COEFFICIENT", value: "0.9", want: " must be from 1 to 10"},
		{key: "SMS_RETRY_COEFFICIENT", value: "NaN", want: " must be from 1 to 10"},
		{key: "EMAIL_TIMEOUT", value: "61s", want: " must be from 100ms to 1m0s"},
		{key: "SLACK_TIMEOUT", value: "99ms", want: " must be from 100ms to 1m0s"},
		{key: "EMAIL_RATE_LIMIT", value: "-1", want: rate},
		{key: "EMAIL_RATE_LIMIT", value: "NaN", want: rate},
		{key: "EMAIL_RATE_LIMIT", value: "+Inf", want: rate},
		{key: "WEBSOCKET_MAX_ATTEMPTS", value: "1", want: " cannot be set: WEBSOCKET is best effort, and gets one attempt"},
		{key: "SLACK_MAX_ATTEMPTS", value: "three", want: " cannot be set: SLACK is best effort, and gets one attempt"},
		{key: "SLACK_RETRY_INTERVAL", value: "1s", want: " cannot be set: SLACK is best effort, and gets one attempt"},
		{key: "SLACK_RETRY_COEFFICIENT", value: "2", want: " cannot be set: SLACK is best effort, and gets one attempt"},
	}
	for _, tt := range tests {
		cfg, err := from(with(map[string]string{tt.key: tt.value}))

		require.EqualError(t, err, "settings: "+tt.key+tt.want, tt.value)
		require.Empty(t, cfg, tt.key)
	}
}

func TestNothingIsSet(t *testing.T) {
	t.Parallel()

	_, err := from(nil)
	require.EqualError(t, err, "settings: DATABASE_URL is not set; RABBITMQ_URL is not set")
}

func TestVerifiesDatabase(t *testing.T) {
	t.Parallel()

	for url, want := range map[environment.Secret]bool{
		"postgres://herald@localhost/herald":                     true,
		"postgres://herald@db/herald?sslmode=verify-full":        true,
		"postgres://herald@db/herald?sslmode=require":            false,
		"postgres://herald@db/herald?sslmode=disable":            false,
		"postgres://herald@/herald?host=/var/run/postgresql":     true,
		"postgres://herald@10.0.0.7/herald?sslmode=prefer":       false,
		"postgres://herald@127.0.0.1:5432/herald?sslmode=prefer": true,
	} {
		require.Equal(t, want, config.VerifiesDatabase(url), string(url))
	}
}

// Links may have more schemes, for every process that writes texts.
func TestLinkSchemes(t *testing.T) {
	t.Parallel()

	for value, want := range map[string][]string{
		"": nil, "myapp": {"myapp"}, " MyApp, com.example.app,web+x ": {"myapp", "com.example.app", "web+x"},
	} {
		cfg, err := config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "TEMPLATE_LINK_SCHEMES": value})
		require.NoError(t, err)
		require.Equal(t, want, cfg.LinkSchemes)
		gateway, err := gatewayWith(map[string]string{"TEMPLATE_LINK_SCHEMES": value})
		require.NoError(t, err)
		require.Equal(t, want, gateway.LinkSchemes)
	}
	_, err := gatewayWith(map[string]string{"TEMPLATE_LINK_SCHEMES": "javascript"})
	require.ErrorContains(t, err, "TEMPLATE_LINK_SCHEMES must be")
}
