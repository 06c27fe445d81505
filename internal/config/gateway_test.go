package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/web/signin"
	"herald/internal/wiring"
)

const heraldSecret = "the secret of tests, of 32 bytes"

// Public keys of webhooks: a key in SendGrid's examples, and a key that is not ECDSA.
const (
	sendgridKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
	ed25519Key  = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
)

// gatewayWith reads the required settings of a gateway, with changes.
func gatewayWith(changes map[string]string) (config.Gateway, error) {
	all := with(map[string]string{
		"HERALD_SECRET": heraldSecret, "AUTH_ISSUER": "i", "AUTH_AUDIENCE": "a", "AUTH_HS256_SECRET": "another secret of tests, also 32!",
	})
	maps.Copy(all, changes)
	return gatewayFrom(all)
}

func gatewayFrom(values map[string]string) (config.Gateway, error) {
	var who signin.Settings
	readOthers := func(r *environment.Reader) {
		who.Read(r)
		wiring.New().ReadReceipts(r)
	}
	return config.GatewayFrom(values, readOthers, wiring.New().Read)
}

func TestGatewayDefaults(t *testing.T) {
	t.Parallel()

	cfg, err := gatewayWith(map[string]string{"SENDGRID_API_KEY": "not\nits own, and so not read"})

	require.NoError(t, err)
	require.Equal(t, config.Gateway{
		DatabaseURL: "postgres://herald@localhost/herald", RabbitMQURL: "amqp://guest:guest@localhost:5672/", Secret: heraldSecret,
		HTTPAddr: ":8080", AdminAddr: "127.0.0.1:8082", MaxSockets: 10_000, MaxSocketsPerRecipient: 20, MaxPerAddress: 1000,
	}, cfg)
}

// Without a brand, the pages have the name of the mails' sender.
func TestBrandIsTheSender(t *testing.T) {
	t.Parallel()

	cfg, err := gatewayWith(map[string]string{"EMAIL_FROM_NAME": "Herald"})
	require.NoError(t, err)
	require.Equal(t, "Herald", cfg.BrandName)
	cfg, err = gatewayWith(map[string]string{"EMAIL_FROM_NAME": "Herald", "BRAND_NAME": "Trattoria"})
	require.NoError(t, err)
	require.Equal(t, "Trattoria", cfg.BrandName)
}

func TestGatewaySettings(t *testing.T) {
	t.Parallel()

	demo := func(more ...string) map[string]string {
		all := map[string]string{"GATEWAY_DEMO": "true", "GATEWAY_HTTP_ADDR": "127.0.0.1:8080", "SLACK_ALLOWED_HOSTS": "127.0.0.1:9090"}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	mail := "https://api.sendgrid.com"
	tests := []struct {
		name    string
		changes map[string]string
		want    []string // texts in the error; empty: no error
	}{
		{name: "a brand", changes: map[string]string{"BRAND_NAME": "Trattoria Èlia & Söhne", "BRAND_LOGO_URL": "https://cdn.example.com/logo.png"}},
		{name: "a logo on this machine", changes: map[string]string{"BRAND_LOGO_URL": "http://localhost:9000/logo.png"}},
		{name: "a logo over http", changes: map[string]string{"BRAND_LOGO_URL": "http://cdn.example.com/logo.png"},
			want: []string{"BRAND_LOGO_URL must be https"}},
		{name: "no logo", changes: map[string]string{"BRAND_LOGO_URL": "javascript://x/%0aalert(1)"}, want: []string{"BRAND_LOGO_URL must be"}},
		{name: "a logo that would open the policy", changes: map[string]string{"BRAND_LOGO_URL": "https://a.example.com;sandbox/x.png"},
			want: []string{"BRAND_LOGO_URL must be the URL"}},
		{name: "a logo of any host", changes: map[string]string{"BRAND_LOGO_URL": "https://*/logo.png"},
			want: []string{"BRAND_LOGO_URL must be the URL"}},
		{name: "a brand of two lines", changes: map[string]string{"BRAND_NAME": "a\nb"}, want: []string{"BRAND_NAME must be one line"}},
		{name: "everything is wrong", changes: map[string]string{
			"DATABASE_URL": "postgres://db/h", "RABBITMQ_URL": "amqp://mq/", "HERALD_SECRET": "short", "GATEWAY_HTTP_ADDR": "8080",
			"GATEWAY_ADMIN_ADDR":      "x",
			"GATEWAY_ALLOWED_ORIGINS": "*", "GATEWAY_MAX_SOCKETS": "0", "GATEWAY_MAX_SOCKETS_PER_RECIPIENT": "-1",
			"GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": "-1", "AUTH_ISSUER": "", "AUTH_AUDIENCE": "", "AUTH_HS256_SECRET": "short",
		}, want: []string{
			"DATABASE_URL leads to another host", "RABBITMQ_URL leads to another host", "HERALD_SECRET must have 32 bytes",
			"GATEWAY_HTTP_ADDR must be", "GATEWAY_ADMIN_ADDR must be",
			"GATEWAY_ALLOWED_ORIGINS must be", "GATEWAY_MAX_SOCKETS must be", "GATEWAY_MAX_SOCKETS_PER_RECIPIENT must be",
			"GATEWAY_MAX_CONNECTIONS_PER_ADDRESS must be", "AUTH_ISSUER is", "AUTH_AUDIENCE is", "AUTH_HS256_SECRET must have 32 bytes",
		}},
		{name: "nothing is set", changes: map[string]string{"DATABASE_URL": "", "RABBITMQ_URL": "", "HERALD_SECRET": "", "AUTH_HS256_SECRET": ""},
			want: []string{"DATABASE_URL is empty", "RABBITMQ_URL is empty", "HERALD_SECRET is empty", "neither is AUTH_JWKS_URL"}},
		{name: "two ways to sign in", changes: map[string]string{"AUTH_JWKS_URL": "https://issuer.example.com/keys"}, want: []string{"both set"}},
		{name: "keys", changes: map[string]string{"AUTH_HS256_SECRET": "", "AUTH_JWKS_URL": "https://issuer.example.com/keys?p=1"}},
		{name: "keys in clear text",
			changes: map[string]string{"AUTH_HS256_SECRET": "", "AUTH_JWKS_URL": "http://issuer.example.com/keys", "ALLOW_CLEARTEXT": "true"},
			want:    []string{"always https"}},
		{name: "keys in clear text from this machine",
			changes: map[string]string{"AUTH_HS256_SECRET": "", "AUTH_JWKS_URL": "http://127.0.0.1/keys"}, want: []string{"always https"}},
		{name: "keys behind a password",
			changes: map[string]string{"AUTH_HS256_SECRET": "", "AUTH_JWKS_URL": "https://u:p@issuer.example.com/keys"},
			want:    []string{"AUTH_JWKS_URL must be"}},
		{name: "clear text is allowed",
			changes: map[string]string{"DATABASE_URL": "postgres://db/h", "RABBITMQ_URL": "amqp://mq/", "ALLOW_CLEARTEXT": "true"}},
		{name: "webhooks", changes: map[string]string{
			"PUBLIC_URL": "https://herald.example.com", "TWILIO_AUTH_TOKEN": "t0ken", "SENDGRID_WEBHOOK_PUBLIC_KEY": sendgridKey,
		}},
		{name: "webhooks on this machine", changes: map[string]string{"PUBLIC_URL": "http://127.0.0.1:8080/"}},
		{name: "webhooks in clear text", changes: map[string]string{"PUBLIC_URL": "http://herald.example.com"},
			want: []string{"PUBLIC_URL must be https"}},
		{name: "a malformed token", changes: map[string]string{"TWILIO_AUTH_TOKEN": "a token"},
			want: []string{"TWILIO_AUTH_TOKEN must be letters"}},
		{name: "a key that is not base64", changes: map[string]string{"SENDGRID_WEBHOOK_PUBLIC_KEY": "-----BEGIN"},
			want: []string{"SENDGRID_WEBHOOK_PUBLIC_KEY must be"}},
		{name: "a malformed key", changes: map[string]string{"SENDGRID_WEBHOOK_PUBLIC_KEY": "AAAA"},
			want: []string{"SENDGRID_WEBHOOK_PUBLIC_KEY must be"}},
		{name: "a key of another kind", changes: map[string]string{"SENDGRID_WEBHOOK_PUBLIC_KEY": ed25519Key},
			want: []string{"SENDGRID_WEBHOOK_PUBLIC_KEY must be"}},
		{name: "a demo",
			changes: demo("SENDGRID_API_KEY", "k", "EMAIL_FROM", "herald@example.com", "SENDGRID_BASE_URL", "http://127.0.0.1:9090")},
		{name: "a demo for everybody", changes: demo("GATEWAY_HTTP_ADDR", ":8080"),
			want: []string{"GATEWAY_DEMO lets each visitor sign in as anybody: GATEWAY_HTTP_ADDR"}},
		{name: "a demo for the network", changes: demo("GATEWAY_HTTP_ADDR", "192.0.2.1:8080"),
			want: []string{"GATEWAY_DEMO lets each visitor sign in as anybody: GATEWAY_HTTP_ADDR"}},
		{name: "a demo next to a real provider",
			changes: demo("SENDGRID_API_KEY", "k", "EMAIL_FROM", "herald@example.com", "SENDGRID_BASE_URL", mail),
			want:    []string{"GATEWAY_DEMO lets each visitor sign in as anybody: the provider of SENDGRID_BASE_URL is not on this machine"}},
		{name: "a demo next to Slack", changes: demo("SLACK_ALLOWED_HOSTS",
			""), want: []string{
			"GATEWAY_DEMO lets each visitor sign in as anybody: SLACK_ALLOWED_HOSTS is not set, so the provider is not on this machine",
		}},
		{name: "a demo next to a provider that is off", changes: demo("SENDGRID_BASE_URL", mail)},
		{name: "a demo with the keys of an issuer", changes: demo("AUTH_HS256_SECRET", "", "AUTH_JWKS_URL", "https://issuer.example.com/keys"),
			want: []string{"AUTH_HS256_SECRET is not set, but GATEWAY_DEMO"}},
		{name: "a demo, neither true nor false", changes: map[string]string{"GATEWAY_DEMO": "maybe"},
			want: []string{"GATEWAY_DEMO must be true or false"}},
	}
	for _, tt := range tests {
		cfg, err := gatewayWith(tt.changes)
		if tt.want == nil {
			require.NoError(t, err, tt.name)
			continue
		}
		for _, fact := range tt.want {
			require.ErrorContains(t, err, fact, tt.name)
		}
		require.Len(t, strings.Split(err.Error(), "; "), len(tt.want), "%s, and nothing else: %v", tt.name, err)
		require.Empty(t, cfg, tt.name)
	}
}

func TestAllowedOrigins(t *testing.T) {
	t.Parallel()

	cfg, err := gatewayWith(map[string]string{
		"GATEWAY_ALLOWED_ORIGINS": "https://App.example.com, http://localhost:3000,https://a.example.com:443,http://b.example.com:80,https://[::1]:8443",
	})
	require.NoError(t, err)
	require.Equal(t,
		[]string{"https://app.example.com", "http://localhost:3000", "https://a.example.com", "http://b.example.com", "https://[::1]:8443"},
		cfg.AllowedOrigins)

	for _, wrong := range []string{
		"*", "null", "app.example.com", "https://", "https://a.example.com/", "https://a.example.com/path", "https://*.example.com",
		"https://u@a.example.com", "ftp://a.example.com", "https://a.example.com?x", "https://a.example.com,,https://b.example.com",
		"https://a.example.com:x",
	} {
		_, err := gatewayWith(map[string]string{"GATEWAY_ALLOWED_ORIGINS": wrong})
		require.ErrorContains(t, err, "GATEWAY_ALLOWED_ORIGINS must be origins", wrong)
	}
}
