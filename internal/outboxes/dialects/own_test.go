package dialects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes"
)

// A slot has one owner, of whichever process, until it is given back.
func TestOwn(t *testing.T) {
	t.Parallel()

	s := orders(t)
	first, second := s.table(t), s.table(t)
	_, all, release, err := first.Own(t.Context(), outboxes.Slots)
	require.NoError(t, err)
	require.Len(t, all, outboxes.Slots)
	_, none, releaseNone, err := second.Own(t.Context(), 8)
	require.NoError(t, err)
	require.Empty(t, none)
	releaseNone()
	release()

	owned, half, release, err := second.Own(t.Context(), 8)
	require.NoError(t, err)
	require.Len(t, half, 8)
	_, rest, releaseRest, err := first.Own(t.Context(), outboxes.Slots)
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

// A snapshot has the rows of its moment, in their order, as many as memory is to hold.
func TestSnapshot(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, `INSERT INTO outbox (event_type, payload, created_at) SELECT 'T', repeat('x', 6 << 20), now() FROM generate_series(1, 5)`)
	table := s.table(t)
	snapshot, err := table.Snapshot(t.Context())
	require.NoError(t, err)
	first, err := snapshot.Pending(t.Context(), "", 2)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, keys(first))
	s.exec(t, `UPDATE outbox SET sent = true WHERE id = 3`)
	s.exec(t, `INSERT INTO outbox (event_type, payload, created_at) VALUES ('T', 'x', now())`)

	rest, err := snapshot.Pending(t.Context(), first[1].Cursor, 9)
	require.NoError(t, err)
	require.Equal(t, []string{"3", "4", "5"}, keys(rest))
	rows, err := snapshot.Rows(t.Context(), []string{"1", "2", "3", "4", "5"})
	require.NoError(t, err)
	require.Len(t, rows, 3, "18 MiB")
	again, err := snapshot.Rows(t.Context(), []string{"5"})
	require.NoError(t, err)
	require.Len(t, again, 1)
	snapshot.Close(t.Context())
}
