package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// A batch has what is to be sent at once and was never attempted, in the order in which it
// is sent: a higher priority first.
func TestBatchDeliveries(t *testing.T) {
	t.Parallel()

	s := largeEvent(t) // 4, 6 and 8 are PENDING and to be sent at once
	exec(t, s, "UPDATE notification SET priority = CASE user_id WHEN '4' THEN 'LOW' WHEN '8' THEN 'HIGH' ELSE 'NORMAL' END")
	ids := notification.IDRange{First: 1, Last: 1 << 40}
	read := func(of notification.IDRange) []string {
		found, err := s.BatchDeliveries(t.Context(), "evt-1", notification.Email, of)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, []string{staffMail(8), staffMail(6), staffMail(4)}, read(ids))

	last := get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", staffMail(6))
	require.Equal(t, []string{staffMail(6), staffMail(4)}, read(notification.IDRange{First: 1, Last: last}))

	begin(t, s, staffMail(6), 0)
	require.Equal(t, []string{staffMail(8), staffMail(4)}, read(ids), "what was attempted leaves the batch")
}

// A batch asks for its own range alone.
func TestBatchLeft(t *testing.T) {
	t.Parallel()

	s := largeEvent(t) // 4, 6 and 8 are PENDING and to be sent at once; 2 has FAILED
	id := func(n int) int64 {
		return get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", staffMail(n))
	}
	for _, tt := range []struct {
		first, last int
		want        bool
	}{{0, 9, true}, {0, 3, false}, {2, 4, true}, {4, 4, true}, {9, 9, false}, {5, 5, false}} {
		left, err := s.BatchLeft(t.Context(), "evt-1", notification.Email, notification.IDRange{First: id(tt.first), Last: id(tt.last)})
		require.NoError(t, err)
		require.Equal(t, tt.want, left, fmt.Sprint(tt.first, tt.last))
	}
}

// What a batch asks about its rest does not grow with the deliveries behind it.
func TestBatchLeftReadsNoFurther(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error)
		SELECT 'evt-1', 'T', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, '', '', 'FAILED', 'refused'
		FROM   generate_series(1, 30000) AS i`)
	exec(t, s, "VACUUM ANALYZE notification")
	listening, asked := heard(t, s)
	left, err := listening.BatchLeft(t.Context(), "evt-1", notification.Email, notification.IDRange{First: 1, Last: 100})
	require.NoError(t, err)
	require.False(t, left)
	require.Len(t, asked.heard, 1)
	require.Less(t, blocksOf(t, s, asked.heard[0]), 20)
}

// What FAILED is to be made again, but for what a receipt says.
func TestReopenFailed(t *testing.T) {
	t.Parallel()

	s := largeEvent(t)
	exec(t, s, "UPDATE notification SET status = 'FAILED', last_error = 'refused' WHERE delivery_id = $1", staffMail(4))
	exec(t, s, "UPDATE notification SET status = 'FAILED', last_error = 'bounced', sent_at = now(), receipt_failed = true WHERE delivery_id = $1", staffMail(6))
	part := notification.Part{EventID: "evt-1", Lane: mails}
	part.IDs.Last = get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", staffMail(2))

	for ; part.IDs != (notification.IDRange{}); part.IDs = (notification.IDRange{}) {
		require.NoError(t, s.ReopenFailed(t.Context(), part))
		require.Equal(t, []string{staffMail(4), staffMail(6)}, list(t, s, "SELECT delivery_id FROM notification WHERE status = 'FAILED' ORDER BY id"))
	}
	require.NoError(t, s.ReopenFailed(t.Context(), part), "the whole lane")
	require.Equal(t, []string{staffMail(6)}, list(t, s, "SELECT delivery_id FROM notification WHERE status = 'FAILED'"))
}
