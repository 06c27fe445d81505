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
		databases = " must be a Postgres URL such as postgres://user:password@host:5432/herald"
		brokers   = " must be a URL such as amqp://user:password@host:5672/"
		prefix    = " must be of a-z, 0-9 and -, 50 at most"
		rate      = " must be messages a second, or 0 for no limit"
	)
	tests := []struct{ key, value, want string }{
		{"DATABASE_URL", "", " is empty"},
		{"DATABASE_URL", "hunter2", databases},
		{"DATABASE_URL", "mysql://u:hunter2@h/d", databases},
		{"DATABASE_URL", "postgres://u:hunter2@h/d?sslmode=perhaps", databases},
		{"RABBITMQ_URL", "", " is empty"},
		{"RABBITMQ_URL", "http://u:hunter2@h/", brokers},
		{"RABBITMQ_QUEUE_LENGTH", "-1", " must be from 0 to 100000000"},
		{"RABBITMQ_QUEUE_TTL", "999ms", " must be from 1s to 1080h0m0s"},
		{"RABBITMQ_QUEUE_TTL", "1081h", " must be from 1s to 1080h0m0s"},
		{"TASK_QUEUE_PREFIX", "Herald", prefix},
		{"TASK_QUEUE_PREFIX", "herald_1", prefix},
		{"TASK_QUEUE_PREFIX", strings.Repeat("h", 51), prefix},
		{"OUTBOX_POLL_INTERVAL", "99ms", " must be from 100ms to 1m0s"},
		{"OUTBOX_POLL_INTERVAL", "61s", " must be from 100ms to 1m0s"},
		{"OUTBOX_BATCH_SIZE", "0", " must be from 1 to 1000"},
		{"OUTBOX_BATCH_SIZE", "1001", " must be from 1 to 1000"},
		{"OUTBOX_POLLERS", "-1", " must be from 1 to 16"},
		{"OUTBOX_POLLERS", "17", " must be from 1 to 16"},
		{"WORKER_HTTP_ADDR", "8081", " must be host:port or :port"},
		{"WORKER_HTTP_ADDR", ":http", " must be host:port or :port"},
		{"WORKER_HTTP_ADDR", ":65536", " must be host:port or :port"},
		{"EMAIL_MAX_ATTEMPTS", "three", " must be a whole number"},
		{"EMAIL_MAX_ATTEMPTS", "0", " must be from 1 to 100"},
		{"EMAIL_MAX_ATTEMPTS", "101", " must be from 1 to 100"},
		{"PUSH_RETRY_INTERVAL", "9ms", " must be from 10ms to 1h0m0s"},
		{"PUSH_RETRY_INTERVAL", "61m", " must be from 10ms to 1h0m0s"},
		{"SMS_RETRY_COEFFICIENT", "0.9", " must be from 1 to 10"},
		{"SMS_RETRY_COEFFICIENT", "11", " must be from 1 to 10"},
		{"SMS_RETRY_COEFFICIENT", "NaN", " must be from 1 to 10"},
		{"EMAIL_TIMEOUT", "61s", " must be from 100ms to 1m0s"},
		{"SLACK_TIMEOUT", "99ms", " must be from 100ms to 1m0s"},
		{"EMAIL_RATE_LIMIT", "-1", rate},
		{"EMAIL_RATE_LIMIT", "NaN", rate},
		{"EMAIL_RATE_LIMIT", "+Inf", rate},
		{"WEBSOCKET_MAX_ATTEMPTS", "1", " cannot be set: WEBSOCKET is best effort, and gets one attempt"},
		{"SLACK_MAX_ATTEMPTS", "three", " cannot be set: SLACK is best effort, and gets one attempt"},
		{"SLACK_RETRY_INTERVAL", "1s", " cannot be set: SLACK is best effort, and gets one attempt"},
		{"SLACK_RETRY_COEFFICIENT", "2", " cannot be set: SLACK is best effort, and gets one attempt"},
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
