package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
)

// However a Config is shown, no secret is.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()

	cfg, err := config.From(map[string]string{
		"ALLOW_CLEARTEXT": "true", "DATABASE_URL": "postgres://u:hunter1@h/d", "RABBITMQ_URL": "amqp://u:hunter2@h/",
		"SENDGRID_API_KEY": "hunter3", "EMAIL_FROM": "a@example.com",
		"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "hunter4", "TWILIO_FROM": "+15005550006",
	})
	require.NoError(t, err)

	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb+"\n", cfg)
		fmt.Fprintf(&shown, verb+"\n", &cfg)
		fmt.Fprintf(&shown, verb+"\n", cfg.SendGridAPIKey)
	}
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("settings", "config", cfg, "key", cfg.SendGridAPIKey)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("settings", "config", cfg, "key", cfg.SendGridAPIKey)
	require.NoError(t, json.NewEncoder(&shown).Encode(cfg))
	shown.WriteString(cfg.SendGridAPIKey.String() + cfg.SendGridAPIKey.GoString())

	require.NotContains(t, shown.String(), "hunter")
	require.NotContains(t, shown.String(), fmt.Sprintf("%x", "hunter"))
	require.Contains(t, shown.String(), "***")
	require.Equal(t, "hunter3", string(cfg.SendGridAPIKey))
}
