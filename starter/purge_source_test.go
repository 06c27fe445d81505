package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// withSentOrders is an order service with three rows that were sent 40 days ago, one of
// them open in Herald, one that failed then, and one that was sent just now.
func withSentOrders(t *testing.T) terminal {
	t.Helper()
	c := withSources(t)
	c.exec(t, `
		INSERT INTO orders.outbox
		SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'Order', gen_random_uuid(), 'OrderCreated', '{}', CASE n WHEN 4 THEN 'FAILED' ELSE 'SENT' END, at, at
		FROM   generate_series(1, 5) n, LATERAL (SELECT timezone('UTC', now()) - CASE n WHEN 5 THEN 0 ELSE 40 END * interval '1 day') AS sent (at)`)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, source, event_type, status) VALUES ('00000000-0000-4000-8000-000000000003', 'orders', 'OrderCreated', 'PENDING')`)
	return c
}

func TestPurgeSource(t *testing.T) {
	t.Parallel()

	c := withSentOrders(t)
	args := []string{"purge", "--source", "orders", "--older-than", "30d"}

	require.Regexp(t, `(?m)^orders.outbox +30d .+ 2 +-$`, c.must(t, append(args, "--dry-run")...))
	got := c.run(t, args...)
	require.Equal(t, calledWrong, got.code)
	require.Contains(t, got.err, "2 rows would go, and nothing was deleted: to delete them add --yes")
	require.Regexp(t, `(?m)^orders.outbox +30d .+ 2 +2$`, c.must(t, append(args, "--yes")...))
	require.Regexp(t, `(?m)^orders.outbox +30d .+ 0 +0$`, c.must(t, append(args, "--yes")...))

	require.Regexp(t, `purge +orders.outbox +--older-than 30d --source orders`, c.must(t, "audit"))
	require.Len(t, c.actions(t, "purge"), 2, "the others deleted nothing")
	require.Regexp(t, `purge +orders.outbox +changed 2 rows`, c.must(t, "audit"))
}

// What is called wrong, or cannot be done, deletes nothing and says what to do.
func TestPurgeSourceMistakes(t *testing.T) {
	t.Parallel()

	c := withSentOrders(t)
	c.exec(t, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'out of order'; END $$; CREATE TRIGGER refuse BEFORE DELETE ON orders.outbox FOR EACH ROW EXECUTE FUNCTION refuse()")
	for _, tt := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no age", calledWrong, []string{"--source", "orders"}, "name an age: --source orders --older-than AGE"},
		{"too young", calledWrong, []string{"--source", "orders", "--older-than", "59m"}, "must be an age of at least 1h"},
		{"another table", calledWrong, []string{"--source", "orders", "--older-than", "30d", "--decisions", "30d"}, "--source goes with --older-than alone"},
		{"mistyped", calledWrong, []string{"--source", "ordres", "--older-than", "30d"}, `did you mean "orders"?`},
		{"out of reach", failed, []string{"--source", "wallet", "--older-than", "30d"}, "next: start the database"},
		{"refused", failed, []string{"--source", "orders", "--older-than", "30d", "--yes"}, "error: stopped: source orders: delete rows that are done from orders.outbox"},
	} {
		got := c.run(t, append([]string{"purge"}, tt.args...)...)
		require.Equal(t, tt.code, got.code, tt.name)
		require.Contains(t, got.err, tt.want, tt.name)
	}
}

// Herald's own outbox is a source, too.
func TestPurgeSourceHerald(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)

	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +3$`, c.must(t, "purge", "--source", "herald", "--older-than", "30d", "--yes"))
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 4, "notification_decision": 4}, rowsOf(t, db))
}
