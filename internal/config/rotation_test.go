package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
)

// A previous secret is one that Herald could have had, and goes with a present one.
func TestPreviousSecrets(t *testing.T) {
	t.Parallel()

	const other = "another secret, of 32 bytes or so"
	cfg, err := gatewayWith(map[string]string{
		"HERALD_SECRET_PREVIOUS": other, "AUTH_HS256_SECRET_PREVIOUS": other, "TWILIO_AUTH_TOKEN": "t1", "TWILIO_AUTH_TOKEN_PREVIOUS": "t2",
		"SENDGRID_WEBHOOK_PUBLIC_KEY": sendgridKey, "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS": sendgridKey,
	})
	require.NoError(t, err)
	require.EqualValues(t, other, cfg.SecretPrevious)
	require.EqualValues(t, "t2", cfg.PreviousTwilioToken)
	require.Equal(t, cfg.SendGridKey, cfg.PreviousSendGridKey)

	_, err = gatewayWith(map[string]string{
		"HERALD_SECRET_PREVIOUS": heraldSecret, "AUTH_HS256_SECRET_PREVIOUS": "short", "TWILIO_AUTH_TOKEN_PREVIOUS": "t 2", "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS": ed25519Key,
	})
	for _, fact := range []string{
		"HERALD_SECRET_PREVIOUS is the present secret", "AUTH_HS256_SECRET_PREVIOUS must have 32 bytes", "TWILIO_AUTH_TOKEN is not set, but TWILIO_AUTH_TOKEN_PREVIOUS is",
		"TWILIO_AUTH_TOKEN_PREVIOUS must be letters and digits", "SENDGRID_WEBHOOK_PUBLIC_KEY is not set, but SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS is",
		"SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS must be",
	} {
		require.ErrorContains(t, err, fact)
	}
	_, err = config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "HERALD_SECRET_PREVIOUS": other})
	require.EqualError(t, err, "settings: HERALD_SECRET_PREVIOUS is set, but the present secret is not")
}

// The secret that docker-compose.yml once had can be replaced by `starter secret rekey`, and
// starts no gateway and no worker.
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
