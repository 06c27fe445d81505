package dialects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/relay/dialects"
)

// Writers continue during index creation. Indexes from an interrupted run are replaced, and a
// second run creates nothing.
func TestAddAfterAnInterruption(t *testing.T) {
	t.Parallel()

	s := orders(t)
	s.exec(t, "CREATE INDEX idx_outbox_aggregate ON orders.outbox (aggregate_id)")
	s.exec(t, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders.idx_outbox_aggregate'::regclass")
	table := s.table(t)

	missing, err := table.Additions(t.Context())
	require.NoError(t, err)
	var begun []string
	require.NoError(t, table.Add(t.Context(), missing, func(i dialects.Addition) {
		s.addOrder(t, "0"+string(rune('1'+len(begun))), "NEW", "2026-11-22 10:00:00", "{}")
		begun = append(begun, i.Name)
	}))

	require.Equal(t, []string{"idx_outbox_status_created", "idx_outbox_aggregate"}, begun)
	require.Equal(t, "true", s.text(t, "SELECT bool_and(indisvalid)::text FROM pg_index WHERE indrelid = 'orders.outbox'::regclass"))
	missing, err = table.Additions(t.Context())
	require.NoError(t, err)
	require.Empty(t, missing)
}

// An index name contains its table's name, so two outboxes in one schema can each have the index.
func TestIndexesAreNamedAfterTheirTable(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, `ALTER TABLE public.outbox RENAME TO "Wallet_Events"`)
	s.config.Table = "public.Wallet_Events"
	s.migrated(t)
	require.Equal(t, "2", s.text(t,
		`SELECT count(*)::text FROM pg_indexes WHERE tablename = 'Wallet_Events' AND indexname IN ('idx_Wallet_Events_sent', 'outbox_pkey')`))
}

func TestIndexNameIsTaken(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, "CREATE INDEX idx_outbox_sent ON public.outbox (created_at)")
	table := s.table(t)
	missing, err := table.Additions(t.Context())
	require.NoError(t, err)
	err = table.Add(t.Context(), missing, func(dialects.Addition) {})
	require.ErrorContains(t, err, "create idx_outbox_sent of public.outbox: its name is taken")
}

func TestTwoMigrationsAtOnce(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	table := s.table(t)
	missing, err := table.Additions(t.Context())
	require.NoError(t, err)
	require.NoError(t, table.Add(t.Context(), missing, func(dialects.Addition) {
		require.ErrorIs(t, s.table(t).Add(t.Context(), missing, func(dialects.Addition) {}), dialects.ErrMigrating)
	}))
}
