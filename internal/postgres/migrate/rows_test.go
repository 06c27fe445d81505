package migrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes"
	"herald/internal/postgres/postgrestest"
)

// An upgrade from release 0.2 keeps the rows that failed, and the rows that their topic
// refused. The walk then finds them.
func TestMigrateRowsOfRelease02(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	migrator := postgrestest.Migrator(t, s)
	postgrestest.DownTo(t, migrator, "0043")
	postgrestest.Exec(t, s, `
		INSERT INTO event_outbox (event_id, source, event_type, status, error_message, attempt_count, sink_attempts, lease_owner, lease_until, published_at, acknowledged_at)
		VALUES ('00000000-0000-4000-8000-000000000001', 'orders', 'T', 'FAILED', 'refused', 1, 6, NULL, NULL, NULL, NULL),
		       ('00000000-0000-4000-8000-000000000002', 'orders', 'T', 'PENDING', 'refused', 1, 2, 'refused', now() + interval '1 minute', NULL, NULL),
		       ('00000000-0000-4000-8000-000000000003', 'orders', 'T', 'PENDING', NULL, 0, 0, NULL, NULL, NULL, NULL),
		       ('00000000-0000-4000-8000-000000000004', 'orders', 'T', 'PROCESSED', NULL, 1, 0, NULL, NULL, now(), now()),
		       ('00000000-0000-4000-8000-000000000005', 'orders', 'T', 'FAILED', 'cancelled by an operator', 0, 0, NULL, NULL, NULL, NULL),
		       ('wallet-7', 'wallet', 'T', 'FAILED', 'refused', 1, 1, NULL, NULL, NULL, NULL),
		       ('wallet-8~wallet', 'wallet', 'T', 'FAILED', 'taken', 0, 0, NULL, NULL, NULL, NULL)`)
	postgrestest.Up(t, migrator)
	require.Equal(t, []string{
		"orders 00000000-0000-4000-8000-000000000001 6 failed marked", "orders 00000000-0000-4000-8000-000000000002 2 waits",
		"orders 00000000-0000-4000-8000-000000000005 0 failed", "wallet 7 1 failed marked", "wallet 8 0 failed marked",
	}, postgrestest.List(t, s, `
		SELECT concat_ws(' ', source, row_key, refusals, CASE WHEN failed_at IS NULL THEN 'waits' ELSE 'failed' END, CASE WHEN marked_at IS NOT NULL THEN 'marked' END)
		FROM   source_row
		ORDER BY source, row_key`))

	postgrestest.Exec(t, s, `INSERT INTO worker_promotion (generation, from_generation, began_at, ended_at) VALUES (4, 3, now() - interval '1 hour', now() - interval '1 hour')`)
	require.NoError(t, s.BeginSource(t.Context(), outboxes.Source{Name: "orders"}))
	require.Empty(t, postgrestest.List(t, s, "SELECT event_id FROM event_outbox WHERE source = 'orders' AND status <> 'PROCESSED'"), "a source without people notifies nobody")
	require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'")+1, "the fourth ended before")
}
