package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// A delivery's attempt, from its begin to its end, leaves the row of each on its page; and
// the begin writes no index, nor does the end of the attempt itself.
func TestAnAttemptStaysOnItsPage(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, "ALTER TABLE notification SET (autovacuum_enabled = false)")
	exec(t, s, "ALTER TABLE delivery_attempt SET (autovacuum_enabled = false)")
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address)
		SELECT 'evt-' || i, 'T', 'CUSTOMER', i::text, 'EMAIL', 'd-' || i, 'A new reservation', 'A table for four on Friday at 20:00.', 'customer@example.com'
		FROM   generate_series(1, 1000) AS i`)
	const pages = `SELECT delivery_id || ' on ' || (ctid::text::point)[0] FROM notification WHERE id = ANY ($1) ORDER BY id`
	var some []int // far fewer than each page has room for
	for id := 1; id <= 1000; id += 50 {
		some = append(some, id)
	}
	before := list(t, s, pages, some)

	working, _ := heard(t, s)
	for _, id := range some {
		delivery := fmt.Sprint("d-", id)
		endAs(t, working, notification.AttemptResult{DeliveryID: delivery, Number: beginBatch(t, working, []string{delivery})[0].Number, Outcome: notification.OutcomeSent, ProviderID: "m", Took: time.Millisecond})
	}
	working.Close() // so that the server counts what it did

	require.Equal(t, before, list(t, s, pages, some))
	hot := func(table string) string {
		return get[string](t, s, "SELECT format('%s of %s', n_tup_hot_upd, n_tup_upd) FROM pg_stat_user_tables WHERE relname = $1", table)
	}
	require.Eventually(t, func() bool { return hot("notification") != "0 of 0" }, time.Minute, 20*time.Millisecond)
	require.Equal(t, "20 of 40", hot("notification"), "its status is in indexes, and changes at the end")
	require.Equal(t, "0 of 0", hot("delivery_attempt"), "it is written once")
}
