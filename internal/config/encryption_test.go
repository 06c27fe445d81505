package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
)

const (
	databaseClear = "DATABASE_URL leads to another host without encryption: it needs sslmode=require, verify-ca or verify-full, or " +
		"ALLOW_CLEARTEXT=true"
	temporalClear = "TEMPORAL_ADDRESS leads to another host without encryption: it needs TEMPORAL_TLS=true or TEMPORAL_API_KEY, or " +
		"ALLOW_CLEARTEXT=true"
	brokerClear = "RABBITMQ_URL leads to another host without encryption: it needs amqps://, or ALLOW_CLEARTEXT=true"
)

func TestClearTextToOtherHosts(t *testing.T) {
	t.Parallel()

	tests := []struct{ key, value, want string }{
		{key: "DATABASE_URL", value: "postgres://u@db/h", want: databaseClear}, // sslmode=prefer
		{key: "DATABASE_URL", value: "postgres://u@db/h?sslmode=allow", want: databaseClear},
		{key: "DATABASE_URL", value: "postgres://u@db/h?sslmode=disable", want: databaseClear},
		{key: "DATABASE_URL", value: "postgres://u@localhost,db/h?sslmode=disable", want: databaseClear},
		{key: "DATABASE_URL", value: "postgres://u@db/h?sslmode=require"},
		{key: "DATABASE_URL", value: "postgres://u@db/h?sslmode=verify-ca"},
		{key: "DATABASE_URL", value: "postgres://u@db/h?sslmode=verify-full"},
		{key: "DATABASE_URL", value: "postgres://u@127.0.0.1/h?sslmode=disable"},
		{key: "DATABASE_URL", value: "postgres://u@[::1]/h?sslmode=disable"},
		{key: "DATABASE_URL", value: "postgres:///h?host=/var/run/postgresql"},
		{key: "RABBITMQ_URL", value: "amqp://u:p@mq/", want: brokerClear},
		{key: "RABBITMQ_URL", value: "amqps://u:p@mq/"},
		{key: "RABBITMQ_URL", value: "amqp://u:p@127.0.0.2/"},
		{key: "TEMPORAL_ADDRESS", value: "temporal:7233", want: temporalClear},
		{key: "TEMPORAL_ADDRESS", value: "dns:///temporal:7233", want: temporalClear},
		{key: "TEMPORAL_ADDRESS", value: "localhost:7233"},
		{key: "TEMPORAL_ADDRESS", value: "dns:///127.0.0.1:7233"},
		{key: "TEMPORAL_ADDRESS", value: "unix:/run/temporal"},
	}
	for _, tt := range tests {
		_, err := from(with(map[string]string{tt.key: tt.value}))
		if tt.want == "" {
			require.NoError(t, err, tt.value)
		} else {
			require.EqualError(t, err, "settings: "+tt.want, tt.value)
		}
		_, err = from(with(map[string]string{tt.key: tt.value, "ALLOW_CLEARTEXT": "true"}))
		require.NoError(t, err, tt.value)
	}
}

func TestBroker(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ url, cleartext, want string }{
		{},
		{url: "amqps://u:hunter2@mq/"},
		{url: "amqp://u:hunter2@localhost/"},
		{url: "amqp://u:hunter2@mq/", cleartext: "true"},
		{url: "amqp://u:hunter2@mq/", want: "settings: " + brokerClear},
		{url: "hunter2", want: "settings: RABBITMQ_URL must be a URL such as amqp://user:password@host:5672/"},
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

func TestOneErrorNamesAllClearText(t *testing.T) {
	t.Parallel()

	everywhere := map[string]string{
		"DATABASE_URL": "postgres://u:hunter2@db/h", "TEMPORAL_ADDRESS": "temporal:7233", "RABBITMQ_URL": "amqp://u:hunter2@mq/",
	}
	_, err := from(everywhere)
	require.EqualError(t, err, "settings: "+databaseClear+"; "+temporalClear+"; "+brokerClear)
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
		settings["TEMPORAL_ADDRESS"] = "temporal:7233"
		_, err := config.Temporal(settings)
		require.NoError(t, err, name)
	}
	_, err := config.Temporal(map[string]string{"TEMPORAL_ADDRESS": "temporal:7233", "TEMPORAL_API_KEY": "key", "TEMPORAL_TLS": "false"})
	require.EqualError(t, err, "settings: "+temporalClear)
}

// Herald calls no codec server. If it ignored the setting, histories would stay in clear text while
// an operator believes that they are encrypted.
func TestCodecIsRefused(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.default.codec]\nendpoint = 'https://codec.example.com'\n"), 0o600))
	for name, settings := range map[string]map[string]string{
		"endpoint": {"TEMPORAL_CODEC_ENDPOINT": "https://codec.example.com"},
		"auth":     {"TEMPORAL_CODEC_AUTH": "hunter2"},
		"file":     {"TEMPORAL_CONFIG_FILE": file},
	} {
		_, err := config.Temporal(settings)
		_, workerErr := from(with(settings))
		_, starterErr := config.StarterFrom(with(settings))
		for _, fact := range []string{"TEMPORAL_CODEC_ENDPOINT", "TEMPORAL_CODEC_AUTH", "[profile.*.codec]", "cannot be set", "HISTORY_KEYS"} {
			require.ErrorContains(t, err, fact, name)
		}
		require.NotContains(t, err.Error(), "hunter2")
		require.EqualError(t, workerErr, err.Error(), name)
		require.EqualError(t, starterErr, err.Error(), name)
	}
	_, err := config.Temporal(map[string]string{"TEMPORAL_CODEC_ENDPOINT": "", "TEMPORAL_CODEC_AUTH": ""})
	require.NoError(t, err)
}

func TestHistoryKeys(t *testing.T) {
	t.Parallel()

	const key = "a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	tests := []struct {
		name     string
		settings map[string]string
		wrong    string
	}{
		{"off", map[string]string{"HISTORY_KEYS": key}, ""},
		{"on", map[string]string{"HISTORY_KEYS": key, "ENCRYPT_HISTORIES": "true"}, ""},
		{"no key", map[string]string{"ENCRYPT_HISTORIES": "true"}, "HISTORY_KEYS is not set, but ENCRYPT_HISTORIES is"},
		{"a password", map[string]string{"HISTORY_KEYS": "a:hunter2"}, "HISTORY_KEYS must be id:key"},
		{"no boolean", map[string]string{"ENCRYPT_HISTORIES": "hunter2"}, "ENCRYPT_HISTORIES must be true or false"},
	}
	for _, tt := range tests {
		_, err := config.Temporal(tt.settings)
		_, workerErr := from(with(tt.settings))
		_, starterErr := config.StarterFrom(with(tt.settings))
		for _, err := range []error{err, workerErr, starterErr} {
			if tt.wrong == "" {
				require.NoError(t, err, tt.name)
				continue
			}
			require.ErrorContains(t, err, tt.wrong, tt.name)
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
}

// A previous secret must be a valid HERALD_SECRET, and needs a current secret.
func TestPreviousSecrets(t *testing.T) {
	t.Parallel()

	const other = "another secret, of 32 bytes or so"
	cfg, err := gatewayWith(map[string]string{
		"HERALD_SECRET_PREVIOUS": other, "AUTH_HS256_SECRET_PREVIOUS": other, "TWILIO_AUTH_TOKEN": "t1", "TWILIO_AUTH_TOKEN_PREVIOUS": "t2",
		"SENDGRID_WEBHOOK_PUBLIC_KEY": sendgridKey, "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS": sendgridKey,
	})
	require.NoError(t, err)
	require.EqualValues(t, other, cfg.SecretPrevious)

	_, err = gatewayWith(map[string]string{
		"HERALD_SECRET_PREVIOUS": heraldSecret, "AUTH_HS256_SECRET_PREVIOUS": "short", "TWILIO_AUTH_TOKEN_PREVIOUS": "t 2",
		"SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS": ed25519Key,
	})
	for _, fact := range []string{
		"HERALD_SECRET_PREVIOUS equals the current secret", "AUTH_HS256_SECRET_PREVIOUS must have 32 bytes",
		"TWILIO_AUTH_TOKEN is not set, but TWILIO_AUTH_TOKEN_PREVIOUS is",
		"TWILIO_AUTH_TOKEN_PREVIOUS must be letters and digits",
		"SENDGRID_WEBHOOK_PUBLIC_KEY is not set, but SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS is",
		"SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS must be",
	} {
		require.ErrorContains(t, err, fact)
	}
	_, err = config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "HERALD_SECRET_PREVIOUS": other})
	require.EqualError(t, err, "settings: HERALD_SECRET_PREVIOUS is set, but the current secret is not")
}

// starter accepts the secret that old files published as the previous secret, so that `starter
// secret rekey` can replace it. Gateway and worker refuse it.
func TestPublishedPreviousSecret(t *testing.T) {
	t.Parallel()

	const published = "of a sandbox that nobody else can reach"
	settings := with(map[string]string{"HERALD_SECRET": heraldSecret, "HERALD_SECRET_PREVIOUS": published})
	_, err := config.StarterFrom(settings)
	require.NoError(t, err)
	_, err = from(settings)
	require.ErrorContains(t, err, "HERALD_SECRET_PREVIOUS is published in Herald's files")
	_, err = gatewayWith(settings)
	require.ErrorContains(t, err, "HERALD_SECRET_PREVIOUS is published in Herald's files")
}
