package main

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/operate"
)

// withOldEvents is a database of n events that were processed 40 days ago, each
// with a decision, and one that was processed just now.
func withOldEvents(t *testing.T, n int) (terminal, *pgx.Conn) {
	t.Helper()
	c := withDatabase(t)
	config, err := pgx.ParseConfig(c.environment["DATABASE_URL"])
	require.NoError(t, err)
	delete(config.RuntimeParams, "pool_max_conns")
	db, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	for _, sql := range []string{
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at)
		 SELECT 'evt-' || i, 'T', 'ADMIN', '1', '{}', 'PROCESSED', now(), now() - CASE i WHEN 0 THEN 0 ELSE 40 END * interval '1 day'
		 FROM   generate_series(0, $1::int) i`,
		`INSERT INTO processed_event (event_id, status, created_at)
		 SELECT event_id, 'SUCCESS', created_at FROM event_outbox WHERE $1::int > 0`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		 SELECT event_id, 'ADMIN', '1', created_at, '{}' FROM event_outbox WHERE $1::int > 0`,
	} {
		_, err := db.Exec(t.Context(), sql, n)
		require.NoError(t, err)
	}
	return c, db
}

func rowsOf(t *testing.T, db *pgx.Conn) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"event_outbox", "processed_event", "notification_decision"} {
		var count int
		require.NoError(t, db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&count))
		counts[table] = count
	}
	return counts
}

func TestPurge(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)

	out := c.must(t, "purge", "--older-than", "30d", "--dry-run")
	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +-$`, out)
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

func TestPurgeWantsYes(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 60)
	before := rowsOf(t, db)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{name: "many", args: []string{"--older-than", "30d"}, want: "180 rows would go, and nothing was deleted: to delete them add --yes"},
		{name: "few", args: []string{"--outbox", "959h"}, want: "60 rows would go, and nothing was deleted: to delete them add --yes"},
	} {
		got := c.run(t, append([]string{"purge"}, tt.args...)...)
		require.Equal(t, calledWrong, got.code, tt.name)
		require.Contains(t, got.err, tt.want)
		require.Empty(t, got.out)
		require.Equal(t, before, rowsOf(t, db))
	}

	c.must(t, "purge", "--outbox", "23h", "--dry-run")
	c.must(t, "purge", "--outbox", "23h", "--decisions", "30d", "--yes")
	require.Equal(t, map[string]int{"event_outbox": 1, "processed_event": 61, "notification_decision": 1}, rowsOf(t, db))
}

// What was deleted before a failure is said, and how to go on.
func TestPurgeStopped(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)
	_, err := db.Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'out of order'; END $$;
		CREATE TRIGGER refuse BEFORE DELETE ON processed_event FOR EACH ROW EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)

	got := c.run(t, "purge", "--older-than", "30d", "--yes")

	require.Equal(t, failed, got.code)
	require.Regexp(t, `(?m)^event_outbox +30d .+ 3 +3$`, got.out)
	require.Regexp(t, `(?m)^notification_decision +30d .+ 3 +0$`, got.out)
	require.Contains(t, got.err, "error: stopped: purge processed_event: ")
	require.Contains(t, got.err, "next: what was deleted is gone; run it again, and it goes on with the rest")
}
