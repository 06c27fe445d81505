package dialects_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/relay"
	"herald/internal/stacktest"
)

// A slot has one owner, in any process, until its release.
func TestOwn(t *testing.T) {
	t.Parallel()

	s := orders(t)
	first, second := s.table(t), s.table(t)
	_, all, release, err := first.Own(t.Context(), relay.Slots)
	require.NoError(t, err)
	require.Len(t, all, relay.Slots)
	_, none, releaseNone, err := second.Own(t.Context(), 8)
	require.NoError(t, err)
	require.Empty(t, none)
	releaseNone()
	release()

	owned, half, release, err := second.Own(t.Context(), 8)
	require.NoError(t, err)
	require.Len(t, half, 8)
	_, rest, releaseRest, err := first.Own(t.Context(), relay.Slots)
	require.NoError(t, err)
	require.Len(t, rest, 8)
	for slot := range half {
		require.False(t, rest[slot])
	}
	require.NoError(t, owned.Err())
	release()
	require.Error(t, owned.Err())
	releaseRest()
}

// An owner whose connection hangs stops before the database frees its slots for another owner.
func TestOwnOverAConnectionThatHangs(t *testing.T) {
	t.Parallel()

	s := orders(t)
	link, url := stacktest.LinkTo(t, s.config.DatabaseURL)
	s.config.DatabaseURL = url
	owned, slots, release, err := s.table(t).Own(t.Context(), relay.Slots)
	require.NoError(t, err)
	t.Cleanup(release)
	require.Len(t, slots, relay.Slots)
	link.Slow(time.Hour)

	select {
	case <-owned.Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the owner of a hanging connection still owns its slots")
	}
}

// While a database is read-only, as after a failover, nobody keeps its slots or its connections. So
// everything continues when it takes writes, or when its address leads to another server.
func TestDatabaseTurnsWritable(t *testing.T) {
	t.Parallel()

	s := orders(t)
	const uuid = "00000000-0000-0000-0000-000000000001"
	set := func(sql string) {
		s.exec(t, "ALTER DATABASE "+pgx.Identifier{s.conn.Config().Database}.Sanitize()+" "+sql)
	}
	set("SET default_transaction_read_only = on")
	table := s.table(t)
	owned, _, release, err := table.Own(t.Context(), relay.Slots)
	require.NoError(t, err)
	t.Cleanup(release)
	require.ErrorContains(t, table.MarkSent(t.Context(), []string{uuid}), "read-only transaction")
	set("RESET default_transaction_read_only")

	require.NoError(t, table.MarkSent(t.Context(), []string{uuid}))
	select {
	case <-owned.Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the owner keeps a read-only connection")
	}
}

// A snapshot has the rows of one moment, in order, within the memory limit.
func TestSnapshot(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, `INSERT INTO outbox (event_type, payload, created_at) SELECT 'T', repeat('x', 6 << 20), now() FROM generate_series(1, 5)`)
	table := s.table(t)
	snapshot, err := table.Snapshot(t.Context())
	require.NoError(t, err)
	first, next, err := snapshot.Page(t.Context(), "", 2)
	require.NoError(t, err)
	require.Equal(t, "2", next)
	require.Equal(t, "1", first[0].Key)
	s.exec(t, `UPDATE outbox SET sent = true WHERE id = 3`)
	s.exec(t, `INSERT INTO outbox (event_type, payload, created_at) VALUES ('T', 'x', now())`)

	all, next, err := snapshot.Page(t.Context(), "", 9)
	require.NoError(t, err)
	require.Len(t, all, 3, "18 MiB")
	rest, next, err := snapshot.Page(t.Context(), next, 9)
	require.NoError(t, err)
	require.Equal(t, []string{"4", "5"}, []string{rest[0].Key, rest[1].Key})
	require.Empty(t, next)
	snapshot.Close(t.Context())
}
