package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
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

func TestLaneExceeds(t *testing.T) {
	t.Parallel()

	s := largeEvent(t)
	for _, tt := range []struct {
		lane notification.Lane
		left int
	}{
		{mails, 4}, // one of them has FAILED
		{laterMails, 4},
		{texts, 1},
		{notification.Lane{Channel: notification.Push}, 0},
	} {
		for n := range tt.left + 2 {
			exceeds, err := s.LaneExceeds(t.Context(), "evt-1", tt.lane, n)
			require.NoError(t, err)
			require.Equal(t, tt.left > n, exceeds, fmt.Sprint(tt.lane, n))
		}
	}
}
