package dialects_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/relay/dialects"
)

// done returns the keys of all rows finished for longer than a day. It reads pages of two.
func done(t *testing.T, table *dialects.Table) []string {
	t.Helper()
	var all []string
	for after := ""; ; {
		page, err := table.Done(t.Context(), after, 24*time.Hour, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			return all
		}
		require.LessOrEqual(t, len(page), 2)
		all = append(all, keys(page)...)
		after = page[len(page)-1].Cursor
	}
}

// The clock in Auckland is 12 or 13 hours ahead of UTC. With a wrong zone, a row sent 23 hours ago could
// look two days old, or as if it were sent tomorrow.
func TestDoneOrders(t *testing.T) {
	t.Parallel()

	zone, err := time.LoadLocation("Pacific/Auckland")
	require.NoError(t, err)
	s := orders(t)
	s.config.Zone = zone
	add := func(digits, status, created, sent string) {
		s.addOrder(t, digits, status, "2026-01-01", "{}")
		s.exec(t, `
			UPDATE orders.outbox
			SET    created_at = timezone('Pacific/Auckland', now() - $2::interval),
			       sent_at = timezone('Pacific/Auckland', now() - nullif($3, '')::interval)
			WHERE  id = $1`, id(digits), created, sent)
	}
	add("01", "SENT", "50 hours", "49 hours")
	add("02", "SENT", "40 hours", "25 hours")
	add("03", "SENT", "60 hours", "23 hours")
	add("04", "SENT", "23 hours", "23 hours")
	add("05", "NEW", "60 hours", "")
	add("06", "FAILED", "60 hours", "")
	add("07", "SENT", "30 hours", "") // by a publisher that left the time empty
	table := s.table(t)

	require.Equal(t, []string{id("01"), id("02"), id("07")}, done(t, table))
	gone, err := table.DeleteDone(t.Context(), []string{id("01"), id("03"), id("04"), id("05"), id("06"), id("99")}, 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Equal(t, "02 03 04 05 06 07", s.text(t, "SELECT string_agg(right(id::text, 2), ' ' ORDER BY id) FROM orders.outbox"))
}

// Unsent rows stay, and so do rows of unknown age.
func TestDoneWallets(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.exec(t, "ALTER TABLE public.outbox ALTER COLUMN created_at DROP NOT NULL")
	s.addWallet(t, 9)
	s.exec(t,
		`UPDATE public.outbox SET sent = id <> 2, created_at = CASE WHEN id IN (3, 4) THEN NULL ELSE now() - CASE WHEN id > 7 THEN 1
			ELSE 25 END * interval '1 hour' END`)
	table := s.table(t)

	require.Equal(t, []string{"1", "5", "6", "7"}, done(t, table))
	gone, err := table.DeleteDone(t.Context(), []string{"1", "2", "3", "8"}, 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Equal(t, "2 3 4 5 6 7 8 9", s.text(t, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM public.outbox"))
}
