package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
)

const (
	databaseClear = "DATABASE_URL is another host's and not encrypted: it needs sslmode=require, verify-ca or verify-full, or ALLOW_CLEARTEXT=true"
	temporalClear = "TEMPORAL_ADDRESS is another host's and not encrypted: it needs TEMPORAL_TLS=true or TEMPORAL_API_KEY, or ALLOW_CLEARTEXT=true"
	brokerClear   = "RABBITMQ_URL is another host's and not encrypted: it needs amqps://, or ALLOW_CLEARTEXT=true"
	providerClear = " is another host's and not encrypted: it needs https://, or ALLOW_CLEARTEXT=true"
)

func TestClearTextToOtherHosts(t *testing.T) {
	t.Parallel()

	tests := []struct{ key, value, want string }{
		{"DATABASE_URL", "postgres://u@db/h", databaseClear}, // sslmode=prefer
		{"DATABASE_URL", "postgres://u@db/h?sslmode=allow", databaseClear},
		{"DATABASE_URL", "postgres://u@db/h?sslmode=disable", databaseClear},
		{"DATABASE_URL", "postgres://u@localhost,db/h?sslmode=disable", databaseClear},
		{"DATABASE_URL", "postgres://u@db/h?sslmode=require", ""},
		{"DATABASE_URL", "postgres://u@db/h?sslmode=verify-ca", ""},
		{"DATABASE_URL", "postgres://u@db/h?sslmode=verify-full", ""},
		{"DATABASE_URL", "postgres://u@127.0.0.1/h?sslmode=disable", ""},
		{"DATABASE_URL", "postgres://u@[::1]/h?sslmode=disable", ""},
		{"DATABASE_URL", "postgres:///h?host=/var/run/postgresql", ""},
		{"RABBITMQ_URL", "amqp://u:p@mq/", brokerClear},
		{"RABBITMQ_URL", "amqps://u:p@mq/", ""},
		{"RABBITMQ_URL", "amqp://u:p@127.0.0.2/", ""},
		{"TEMPORAL_ADDRESS", "temporal:7233", temporalClear},
		{"TEMPORAL_ADDRESS", "dns:///temporal:7233", temporalClear},
		{"TEMPORAL_ADDRESS", "localhost:7233", ""},
		{"TEMPORAL_ADDRESS", "dns:///127.0.0.1:7233", ""},
		{"TEMPORAL_ADDRESS", "unix:/run/temporal", ""},
		{"SENDGRID_BASE_URL", "http://sandbox:9090", "SENDGRID_BASE_URL" + providerClear},
		{"TWILIO_BASE_URL", "http://10.0.0.7:9090", "TWILIO_BASE_URL" + providerClear},
		{"FCM_BASE_URL", "http://localhost.example.com/v1", "FCM_BASE_URL" + providerClear},
		{"FCM_BASE_URL", "https://sandbox/v1", ""},
		{"FCM_BASE_URL", "http://[::1]:9090/v1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.key+"="+tt.value, func(t *testing.T) {
			t.Parallel()

			_, err := config.From(with(map[string]string{tt.key: tt.value}))
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "settings: "+tt.want)
			}
			_, err = config.From(with(map[string]string{tt.key: tt.value, "ALLOW_CLEARTEXT": "true"}))
			require.NoError(t, err)
		})
	}
}

func TestBroker(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ url, cleartext, want string }{
		{"", "", ""},
		{"amqps://u:hunter2@mq/", "", ""},
		{"amqp://u:hunter2@localhost/", "", ""},
		{"amqp://u:hunter2@mq/", "true", ""},
		{"amqp://u:hunter2@mq/", "", "settings: " + brokerClear},
		{"hunter2", "", "settings: RABBITMQ_URL must be a URL such as amqp://user:password@host:5672/"},
	} {
		got, err := config.Broker(map[string]string{"RABBITMQ_URL": tt.url, "ALLOW_CLEARTEXT": tt.cleartext})
		if tt.want == "" {
			require.NoError(t, err)
			require.Equal(t, tt.url, string(got))
		} else {
			require.EqualError(t, err, tt.want)
		}
	}
}

func TestInstallation(t *testing.T) {
	t.Parallel()

	require.Equal(t, "default/herald", config.Starter{TaskQueuePrefix: "herald"}.Installation("default"))
}

func TestClearTextIsNamedAtOnce(t *testing.T) {
	t.Parallel()

	everywhere := map[string]string{
		"DATABASE_URL": "postgres://u:hunter2@db/h", "TEMPORAL_ADDRESS": "temporal:7233", "RABBITMQ_URL": "amqp://u:hunter2@mq/", "SENDGRID_BASE_URL": "http://sandbox",
	}
	_, err := config.From(everywhere)
	require.EqualError(t, err, "settings: "+databaseClear+"; "+temporalClear+"; "+brokerClear+"; SENDGRID_BASE_URL"+providerClear)
	_, err = config.StarterFrom(everywhere)
	require.EqualError(t, err, "settings: "+databaseClear+"; "+temporalClear)
	_, err = config.Temporal(everywhere)
	require.EqualError(t, err, "settings: "+temporalClear)
}

func TestTemporalIsEncrypted(t *testing.T) {
	t.Parallel()

	for name, settings := range map[string]map[string]string{
		"TLS":             {"TEMPORAL_TLS": "true"},
		"API key":         {"TEMPORAL_API_KEY": "key"},
		"allowed without": {"ALLOW_CLEARTEXT": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			settings["TEMPORAL_ADDRESS"] = "temporal:7233"
			_, err := config.Temporal(settings)
			require.NoError(t, err)
		})
	}
	_, err := config.Temporal(map[string]string{"TEMPORAL_ADDRESS": "temporal:7233", "TEMPORAL_API_KEY": "key", "TEMPORAL_TLS": "false"})
	require.EqualError(t, err, "settings: "+temporalClear)
}

// A codec that is configured, and not there, would leave histories in clear text
// where somebody thinks that they are not.
func TestCodecIsRefused(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.default.codec]\nendpoint = 'https://codec.example.com'\n"), 0o600))
	for name, settings := range map[string]map[string]string{
		"endpoint": {"TEMPORAL_CODEC_ENDPOINT": "https://codec.example.com"},
		"auth":     {"TEMPORAL_CODEC_AUTH": "hunter2"},
		"file":     {"TEMPORAL_CONFIG_FILE": file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			const want = "settings: TEMPORAL_CODEC_ENDPOINT and TEMPORAL_CODEC_AUTH, or [profile.*.codec] in Temporal's file, cannot be set: " +
				"Herald has no codec yet, and its histories would be clear text all the same"
			_, err := config.Temporal(settings)
			require.EqualError(t, err, want)
			_, err = config.From(with(settings))
			require.EqualError(t, err, want)
			_, err = config.StarterFrom(with(settings))
			require.EqualError(t, err, want)
		})
	}
	_, err := config.Temporal(map[string]string{"TEMPORAL_CODEC_ENDPOINT": "", "TEMPORAL_CODEC_AUTH": ""})
	require.NoError(t, err)
}

func TestPublicURL(t *testing.T) {
	t.Parallel()

	const refused = "settings: PUBLIC_URL must be https, unless it and all providers are on this machine"
	local := map[string]string{
		"SENDGRID_API_KEY": "k", "EMAIL_FROM": "a@example.com", "SENDGRID_BASE_URL": "http://127.0.0.1:9090",
		"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "t", "TWILIO_FROM": "+15005550006", "TWILIO_BASE_URL": "http://127.0.0.1:9090",
		"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "http://127.0.0.1:9090/v1", "SLACK_ALLOWED_HOSTS": "127.0.0.1:9090,[::1]:9090",
	}
	tests := []struct{ name, url, key, value, want string }{
		{"https", "https://herald.example.com", "SLACK_ALLOWED_HOSTS", "hooks.slack.com", ""},
		{"this machine's", "http://localhost:8080", "SLACK_ALLOWED_HOSTS", "localhost", ""},
		{"another host's", "http://herald.example.com", "SLACK_ALLOWED_HOSTS", "localhost", refused},
		{"SendGrid's own", "http://localhost:8080", "SENDGRID_BASE_URL", "https://api.sendgrid.com", refused},
		{"Twilio's own", "http://localhost:8080", "TWILIO_BASE_URL", "https://api.twilio.com", refused},
		{"another FCM", "http://localhost:8080", "FCM_BASE_URL", "https://sandbox/v1", refused},
		{"Slack's own", "http://localhost:8080", "SLACK_ALLOWED_HOSTS", "localhost,hooks.slack.com", refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			settings := with(local)
			settings["PUBLIC_URL"], settings[tt.key] = tt.url, tt.value
			cfg, err := config.From(settings)
			if tt.want != "" {
				require.EqualError(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.url, cfg.PublicURL)
		})
	}
}
