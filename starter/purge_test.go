package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/operate"
)

// withOldEvents returns a shell whose database has n events processed 40 days ago, each with a
// decision, and one event processed just now.
func withOldEvents(t *testing.T, n int) (shell, *db.DB) {
	t.Helper()
	c := withDatabase(t)
	db := c.store(t)
	for _, sql := range []string{
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at)
		 SELECT 'evt-' || i, 'T', 'ADMIN', '1', '{}', 'PROCESSED', now(), now() - CASE i WHEN 0 THEN 0 ELSE 40 END * interval '1 day'
		 FROM   generate_series(0, $1::int) i`,
		`INSERT INTO processed_event (event_id, status, created_at, updated_at)
		 SELECT event_id, 'SUCCESS', created_at, created_at FROM event_outbox WHERE $1::int > 0`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		 SELECT event_id, 'ADMIN', '1', created_at, '{}' FROM event_outbox WHERE $1::int > 0`,
	} {
		postgrestest.Exec(t, db, sql, n)
	}
	return c, db
}

func rowsOf(t *testing.T, db *db.DB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"event_outbox", "processed_event", "notification_decision"} {
		counts[table] = postgrestest.Get[int](t, db, "SELECT count(*) FROM "+table)
	}
	return counts
}

func TestPurge(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)

	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +-$`, c.must(t, "purge", "--older-than", "30d", "--dry-run"))
	require.Equal(t, map[string]int{"event_outbox": 4, "processed_event": 4, "notification_decision": 4}, rowsOf(t, db))

	view := read[purgeView](t, c, "purge", "--older-than", "30d", "--processed-events", "365d", "--yes")
	require.Len(t, view.Tables, 5)
	for i, want := range []operate.PurgedTable{
		{Table: "event_outbox", OlderThan: "30d", Matched: 3, Deleted: 3},
		{Table: "processed_event", OlderThan: "365d"},
		{Table: "notification", OlderThan: "30d"},
		{Table: "delivery_receipt", OlderThan: "30d"},
		{Table: "notification_decision", OlderThan: "30d", Matched: 3, Deleted: 3},
	} {
		require.False(t, view.Tables[i].Before.IsZero())
		want.Before = view.Tables[i].Before
		require.Equal(t, want, view.Tables[i])
	}
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 4, "notification_decision": 1}, rowsOf(t, db))

	require.Regexp(t, `(?m)^processed_event +720h .+ 3 +3$`, c.must(t, "purge", "--processed-events", "720h", "--yes"))
	require.Regexp(t, `(?m)^processed_event +720h .+ 0 +0$`, c.must(t, "purge", "--processed-events", "720h"))
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 1, "notification_decision": 1}, rowsOf(t, db))
}

func TestPurgeNeedsYes(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 60)
	before := rowsOf(t, db)
	for rows, age := range map[string][]string{"180": {"--older-than", "30d"}, "60": {"--outbox", "959h"}} {
		got := c.fails(t, calledWrong, "nothing deleted: "+rows+" rows match; repeat with --yes to delete them",
			append([]string{"purge"}, age...)...)
		require.Empty(t, got.out)
		require.Equal(t, before, rowsOf(t, db))
	}

	c.must(t, "purge", "--outbox", "23h", "--dry-run")
	c.must(t, "purge", "--outbox", "23h", "--decisions", "30d", "--yes")
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 61, "notification_decision": 1}, rowsOf(t, db))
}

// If a purge fails, the output shows the deleted rows, and the error says how to continue.
func TestPurgeStopped(t *testing.T) {
	t.Parallel()

	c, _ := withOldEvents(t, 3)
	c.exec(t, `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'out of order'; END $$;
		CREATE TRIGGER refuse BEFORE DELETE ON processed_event FOR EACH ROW EXECUTE FUNCTION refuse()`)

	got := c.fails(t, failed, "error: stopped: purge processed_event: ", "purge", "--older-than", "30d", "--yes")

	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +3$`, got.out)
	require.Regexp(t, `(?m)^notification_decision +30d .+ 3 +0$`, got.out)
	require.Contains(t, got.err, "next: run it again: it continues with the remaining rows")
}

// withSentOrders returns a shell with an order service's outbox: three rows sent 40 days ago, one
// of them still pending in Herald, one row that failed then, and one row sent just now.
func withSentOrders(t *testing.T) shell {
	t.Helper()
	c := withSources(t)
	c.exec(t, `
		INSERT INTO orders.outbox
		SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'Order', gen_random_uuid(), 'OrderCreated', '{}', CASE n WHEN 4 THEN 'FAILED'
		       ELSE 'SENT' END, at, at
		FROM   generate_series(1, 5) n, LATERAL (SELECT timezone('UTC', now()) - CASE n WHEN 5 THEN 0 ELSE 40 END * interval '1 day')
		       AS sent (at)`)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, source, event_type, status)
		       VALUES ('00000000-0000-4000-8000-000000000003', 'orders', 'OrderCreated', 'PENDING')`)
	return c
}

func TestPurgeSource(t *testing.T) {
	t.Parallel()

	c := withSentOrders(t)
	args := []string{"purge", "--source", "orders", "--older-than", "30d"}

	require.Regexp(t, `(?m)^orders.outbox +30d .+ 2 +-$`, c.must(t, append(args, "--dry-run")...))
	c.fails(t, calledWrong, "nothing deleted: 2 rows match; repeat with --yes to delete them", args...)
	require.Regexp(t, `(?m)^orders.outbox +30d .+ 2 +2$`, c.must(t, append(args, "--yes")...))
	require.Regexp(t, `(?m)^orders.outbox +30d .+ 0 +0$`, c.must(t, append(args, "--yes")...))

	require.Regexp(t, `purge +orders.outbox +--older-than 30d --source orders`, c.must(t, "audit"))
	require.Len(t, c.actions(t, "purge"), 2, "the other calls deleted nothing")
	require.Regexp(t, `purge +orders.outbox +changed 2 rows`, c.must(t, "audit"))
}

// A wrong or failing call deletes nothing and names the next step.
func TestPurgeSourceMistakes(t *testing.T) {
	t.Parallel()

	c := withSentOrders(t)
	c.exec(t,
		"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'out of order'; END $$; CREATE TRIGGER refuse BEFORE "+
			"DELETE ON orders.outbox FOR EACH ROW EXECUTE FUNCTION refuse()")
	for _, tt := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no age", calledWrong, []string{"--source", "orders"}, "name an age: --source orders --older-than AGE"},
		{"too young", calledWrong, []string{"--source", "orders", "--older-than", "59m"}, "must be an age of at least 1h"},
		{"another table", calledWrong, []string{"--source", "orders", "--older-than", "30d", "--decisions", "30d"},
			"with --source, only --older-than sets the age"},
		{"mistyped", calledWrong, []string{"--source", "ordres", "--older-than", "30d"}, "the sources are herald, orders"},
		{"out of reach", failed, []string{"--source", "wallet", "--older-than", "30d"}, "next: start the database"},
		{"refused", failed, []string{"--source", "orders", "--older-than", "30d", "--yes"},
			"error: stopped: source orders: delete rows that are done from orders.outbox"},
	} {
		c.fails(t, tt.code, tt.want, append([]string{"purge"}, tt.args...)...)
	}
}

// --source also accepts Herald's own outbox. Its topic may be missing from the operator's settings:
// events that the topic has yet to get stay.
func TestPurgeSourceHerald(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)
	c.exec(t, "INSERT INTO source_start (source, seq) VALUES ('herald', 0)")
	for _, args := range [][]string{{"--outbox", "30d"}, {"--source", "herald", "--older-than", "30d"}} {
		require.Regexp(t, `(?m)^event_outbox +30d .+ 0 +-$`, c.must(t, append([]string{"purge", "--dry-run"}, args...)...))
	}

	c.exec(t, "DELETE FROM source_start")
	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +3$`, c.must(t, "purge", "--source", "herald", "--older-than", "30d", "--yes"))
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 4, "notification_decision": 4}, rowsOf(t, db))
}
