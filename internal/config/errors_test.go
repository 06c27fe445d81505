package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is not a number, a duration or a truth value is the subject of the environment package.
func TestBadSettings(t *testing.T) {
	t.Parallel()

	const (
		databases = " must be a Postgres URL such as postgres://user:password@host:5432/herald, with %2F for / in the password, %3F for ?, %23 for # and %25 for %"
		brokers   = " must be a URL such as amqp://user:password@host:5672/"
		prefix    = " must be of a-z, 0-9 and -, 50 at most"
		rate      = " must be messages a second, or 0 for no limit"
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
		{key: "RABBITMQ_QUEUE_TTL", value: "1081h", want: " must be from 1s to 1080h0m0s"},
		{key: "TASK_QUEUE_PREFIX", value: "Herald", want: prefix},
		{key: "TASK_QUEUE_PREFIX", value: "herald_1", want: prefix},
		{key: "TASK_QUEUE_PREFIX", value: strings.Repeat("h", 51), want: prefix},
		{key: "OUTBOX_POLL_INTERVAL", value: "99ms", want: " must be from 100ms to 1m0s"},
		{key: "OUTBOX_POLL_INTERVAL", value: "61s", want: " must be from 100ms to 1m0s"},
		{key: "OUTBOX_BATCH_SIZE", value: "0", want: " must be from 1 to 1000"},
		{key: "OUTBOX_BATCH_SIZE", value: "1001", want: " must be from 1 to 1000"},
		{key: "OUTBOX_POLLERS", value: "-1", want: " must be from 1 to 16"},
		{key: "OUTBOX_POLLERS", value: "17", want: " must be from 1 to 16"},
		{key: "BULK_THRESHOLD", value: "-1", want: " must be from 0 to 100000000"},
		{key: "WORKER_HTTP_ADDR", value: "8081", want: " must be host:port or :port"},
		{key: "WORKER_HTTP_ADDR", value: ":http", want: " must be host:port or :port"},
		{key: "WORKER_HTTP_ADDR", value: ":65536", want: " must be host:port or :port"},
		{key: "WORKER_PROMOTE", value: "never", want: " must be auto or manual"},
		{key: "EMAIL_MAX_ATTEMPTS", value: "three", want: " must be a whole number"},
		{key: "EMAIL_MAX_ATTEMPTS", value: "0", want: " must be from 1 to 100"},
		{key: "EMAIL_MAX_ATTEMPTS", value: "101", want: " must be from 1 to 100"},
		{key: "PUSH_RETRY_INTERVAL", value: "9ms", want: " must be from 10ms to 1h0m0s"},
		{key: "PUSH_RETRY_INTERVAL", value: "61m", want: " must be from 10ms to 1h0m0s"},
		{key: "SMS_RETRY_COEFFICIENT", value: "0.9", want: " must be from 1 to 10"},
		{key: "SMS_RETRY_COEFFICIENT", value: "11", want: " must be from 1 to 10"},
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
		t.Run(tt.key+"="+tt.value, func(t *testing.T) {
			t.Parallel()

			cfg, err := from(with(map[string]string{tt.key: tt.value}))

			require.EqualError(t, err, "settings: "+tt.key+tt.want)
			require.Empty(t, cfg)
		})
	}
}

func TestNothingIsSet(t *testing.T) {
	t.Parallel()

	_, err := from(nil)
	require.EqualError(t, err, "settings: DATABASE_URL is not set; RABBITMQ_URL is not set")
}
