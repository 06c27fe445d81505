package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// silent is the address of a server that takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// Each outbox has its figures, as `starter source list` names them. A database that is away,
// or hangs, is named, and costs its own figures alone.
func TestStatusOfSources(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	c.exec(t, `
		INSERT INTO orders.outbox
		SELECT gen_random_uuid(), 'Order', gen_random_uuid(), 'OrderCreated', '{}', status, timezone('UTC', now()) - interval '1 hour'
		FROM   unnest('{NEW,NEW,FAILED,SENT}'::text[]) AS status`)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'ADMIN', '1', '{}');
		INSERT INTO source_row (source, row_key, event_id, refusals, error, failed_at) VALUES ('orders', '1', '1', 3, 'refused', now()), ('orders', '2', '2', 1, 'refused', NULL);
		INSERT INTO source_topic (source, topic, next_attempt_at, error) VALUES ('wallet', 't', now(), 'UNKNOWN_TOPIC')`)
	tests := []struct {
		name, wallet, problem string
	}{
		{"away", unreachable, "connect"},
		{"hangs", silent(t), "did not answer within 5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.environment["WALLET_DATABASE_URL"] = "postgres://herald:verysecret@" + tt.wallet + "/wallet?sslmode=disable"
			got := c.run(t, "status")
			require.Equal(t, succeeded, got.code, got.err)
			require.Regexp(t, `herald +1 +\S+ +0 +0\n`, got.out)
			require.Regexp(t, `orders +2 +1h0m\S+ +1 +0\n`, got.out)
			require.Regexp(t, `wallet +unknown +- +0 +1\n`, got.out)
			require.Contains(t, got.err, "warning: nothing is known of the table of wallet: ")
			require.Contains(t, got.err, tt.problem)
			require.NotContains(t, got.err, "verysecret")
		})
	}

	view := read[statusView](t, c, "status")
	require.Len(t, view.Sources, 3)
	for i, listed := range read[struct{ Sources []sourceView }](t, c, "source", "list").Sources {
		require.Equal(t, listed.Name, view.Sources[i].Name)
	}
	require.Equal(t, 2, *view.Sources[1].Pending)
	require.InDelta(t, 3600, *view.Sources[1].OldestSeconds, 60)
	require.Nil(t, view.Sources[2].Pending)
	require.NotEmpty(t, view.Sources[2].Problem)

	got := c.run(t, "status", "--source", "orders")
	require.Equal(t, succeeded, got.code)
	require.Regexp(t, `orders +2 `, got.out)
	for _, other := range []string{"wallet", "herald ", "deliveries"} {
		require.NotContains(t, got.out, other)
	}
	require.Len(t, read[sourcesView](t, c, "status", "--source", "orders").Sources, 1)
	require.Contains(t, c.run(t, "status", "--source", "order").err, `there is no source "order"`)
}
