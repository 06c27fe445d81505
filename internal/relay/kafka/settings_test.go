package kafka_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config/environment"
	"herald/internal/relay/kafka"
)

// whole has every setting with a valid value.
var whole = map[string]string{
	"KAFKA_BROKERS": "kafka-1:9093, [::1]:9093", "KAFKA_TLS": "true", "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
	"KAFKA_USERNAME": "herald", "KAFKA_PASSWORD": "hunter2", "KAFKA_CLIENT_ID": "herald-eu",
}

func TestSettings(t *testing.T) {
	t.Parallel()

	var s kafka.Settings
	r := environment.NewReader(whole)
	s.Read(r)
	require.NoError(t, r.Err())
	require.Equal(t, kafka.Settings{
		Brokers: []string{"kafka-1:9093", "[::1]:9093"}, TLS: true, Mechanism: "SCRAM-SHA-512",
		Username: "herald", Password: "hunter2", ClientID: "herald-eu",
	}, s)
	require.True(t, s.On())

	var none kafka.Settings
	r = environment.NewReader(map[string]string{"KAFKA_BROKERS": ""})
	none.Read(r)
	require.NoError(t, r.Err())
	require.Equal(t, kafka.Settings{ClientID: "herald"}, none)
	require.False(t, none.On())
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()

	const (
		addresses  = " must be host:port, with commas between them"
		cleartext  = " leads to another host without encryption: it needs KAFKA_TLS=true, or ALLOW_CLEARTEXT=true"
		mechanisms = " must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
		clientID   = " must be of letters, digits and . _ : -, 100 at most"
	)
	tests := []struct{ key, value, want string }{
		{key: "KAFKA_BROKERS", value: "kafka", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_BROKERS", value: "kafka:9092,", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_BROKERS", value: ":9092", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_BROKERS", value: "kafka:port", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_BROKERS", value: "herald:hunter2@kafka:9092", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_BROKERS", value: "PLAINTEXT://kafka:9092", want: "KAFKA_BROKERS" + addresses},
		{key: "KAFKA_TLS", value: "false", want: "KAFKA_BROKERS" + cleartext},
		{key: "KAFKA_TLS", value: "hunter", want: "KAFKA_TLS must be true or false"},
		{key: "KAFKA_SASL_MECHANISM", value: "GSSAPI", want: "KAFKA_SASL_MECHANISM" + mechanisms},
		{key: "KAFKA_SASL_MECHANISM", value: "plain", want: "KAFKA_SASL_MECHANISM" + mechanisms},
		{key: "KAFKA_SASL_MECHANISM", want: "KAFKA_SASL_MECHANISM is not set, but KAFKA_USERNAME is"},
		{key: "KAFKA_USERNAME", want: "KAFKA_USERNAME is not set, but KAFKA_SASL_MECHANISM is"},
		{key: "KAFKA_PASSWORD", want: "KAFKA_PASSWORD is not set, but KAFKA_SASL_MECHANISM is"},
		{key: "KAFKA_CLIENT_ID", value: "herald eu", want: "KAFKA_CLIENT_ID" + clientID},
	}
	for _, tt := range tests {
		values := maps.Clone(whole)
		values[tt.key] = tt.value
		r := environment.NewReader(values)
		new(kafka.Settings).Read(r)
		require.ErrorContains(t, r.Err(), tt.want, tt.value)
		require.NotContains(t, r.Err().Error(), "hunter")
	}
}

// Clear text may go to this machine, or anywhere if ALLOW_CLEARTEXT is set.
func TestClearText(t *testing.T) {
	t.Parallel()

	for _, values := range []map[string]string{
		{"KAFKA_BROKERS": "127.0.0.1:9092,localhost:9093"},
		{"KAFKA_BROKERS": "kafka:9092", "ALLOW_CLEARTEXT": "true"},
	} {
		r := environment.NewReader(values)
		r.AllowCleartext = values["ALLOW_CLEARTEXT"] == "true"
		new(kafka.Settings).Read(r)
		require.NoError(t, r.Err(), "%v", values)
	}
}
