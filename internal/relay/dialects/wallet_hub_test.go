package dialects_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/relay"
)

// addWallet inserts rows like the wallet hub, with ids from 1 on.
func (s service) addWallet(t *testing.T, rows int) {
	t.Helper()
	for range rows {
		s.exec(t, `INSERT INTO public.outbox (event_type, payload, created_at) VALUES ('FundsAdded', '{}', timezone('UTC', now()))`)
	}
}

func TestWalletPendingByID(t *testing.T) {
	t.Parallel()

	for _, columnType := range []string{"bigint", "integer"} {
		t.Run(columnType, func(t *testing.T) {
			t.Parallel()

			s := wallet(t)
			s.exec(t, "ALTER TABLE public.outbox ALTER COLUMN id TYPE "+columnType)
			s.addWallet(t, 11)
			s.exec(t, "UPDATE public.outbox SET sent = true WHERE id IN (1, 3, 4, 5, 6, 7, 8)")

			require.Equal(t, []string{"2", "9", "10", "11"}, found(t, s.table(t)), "as numbers, not as text")
		})
	}
}

func TestWalletRows(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, "ALTER TABLE public.outbox ALTER COLUMN payload DROP NOT NULL")
	s.exec(t, `INSERT INTO public.outbox (event_type, payload, correlation_id, created_at) VALUES
		('WalletCreated', '{"customerId": 7}', 'c-1', '2026-11-22 10:00:00.5'),
		('FundsAdded', NULL, NULL, '2026-11-22 10:00:01')`)

	rows, _ := page(t, s.table(t), "", 10)
	for i := range rows {
		*rows[i].CreatedAt = rows[i].CreatedAt.UTC()
	}
	first, second := time.Date(2026, 11, 22, 10, 0, 0, 500_000_000, time.UTC), time.Date(2026, 11, 22, 10, 0, 1, 0, time.UTC)
	require.Equal(t, []relay.Row{
		{Key: "1", Cursor: "1", EventType: "WalletCreated", CorrelationID: "c-1", Payload: []byte(`{"customerId": 7}`), CreatedAt: &first},
		{Key: "2", Cursor: "2", EventType: "FundsAdded", CreatedAt: &second},
	}, rows)
}

// The table cannot mark a failed row: it stays unsent.
func TestWalletMarks(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.addWallet(t, 3)
	table := s.table(t)

	require.NoError(t, table.MarkSent(t.Context(), []string{"1", "77"}))
	require.NoError(t, table.MarkFailed(t.Context(), "2", "refused"))
	require.NoError(t, table.Reopen(t.Context(), []string{"1", "2"}))

	require.Equal(t, []string{"2", "3"}, found(t, table))
	state := s.state(t, "NOT sent")
	require.Equal(t, [2]int{2, 0}, [2]int{state.Pending, state.Failed})

	state = s.state(t, "id = 3", "2")
	require.Equal(t, 1, state.Pending, "row 2 failed for good")
}
