package demo

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config/secret"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
	"herald/starter/seed"
	"herald/tools/example"
)

// A run starts without the suppressions of earlier runs. Only people of the example are
// unsuppressed.
func TestLiftSuppressions(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	db.AddressHash = secret.AddressHash("of a test, 32 bytes long or more!")
	scripts, settings := seed.Scripts("https://hooks.slack.com")
	require.NoError(t, db.RunScripts(t.Context(), scripts, settings, func(context.Context, map[string]int) error { return nil }))
	for address, channel := range map[string]notification.Channel{"+15005550001": notification.SMS, "tom@example.com": notification.Email, "stranger@example.com": notification.Email} {
		require.NoError(t, db.Suppress(t.Context(), channel, address, notification.SuppressedInvalid, ""))
	}
	events, err := example.Events()
	require.NoError(t, err)
	d := &Demo{Events: events, Explainer: explain.Explainer{Store: db}}

	require.NoError(t, d.liftSuppressions(t.Context()))

	var left []string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT array_agg(encode(address_hash, 'hex')) FROM recipient_suppression").Scan(&left))
	require.Len(t, left, 1, "the stranger's")
}
