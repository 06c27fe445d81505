package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// withEvent has evt-1 for staff 10 over all channels, sent by all but two, and for staff 11
// over WEBSOCKET; and evt-2 for staff 10.
func withEvent(t *testing.T) (s *postgres.Store, id int64) {
	t.Helper()
	s = postgrestest.New(t)
	savePlan(t, s, decided("10", planned(notification.WebSocket), planned(notification.Email), planned(notification.Push), planned(notification.SMS), planned(notification.Slack)),
		decided("11", planned(notification.WebSocket)))
	exec(t, s, "UPDATE notification SET status = 'SENT', attempt_count = 1, sent_at = now(), available_at = now()")
	exec(t, s, "UPDATE notification SET status = 'PENDING', sent_at = NULL WHERE channel = 'PUSH'")
	exec(t, s, "UPDATE notification SET status = 'FAILED', last_error = 'why' WHERE channel = 'SLACK'")
	inboxRow{available: 1}.add(t, s.Pool, "evt-2")
	return s, get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", socket)
}

// Whoever reads a notification has read what they were sent of its event over all channels,
// but has not received a mail by that; others, other events, and what was not sent stay unread.
func TestReadingReadsTheEvent(t *testing.T) {
	t.Parallel()

	ways := map[string]func(s *postgres.Store, ctx context.Context, id int64) error{
		"read": func(s *postgres.Store, ctx context.Context, id int64) error { return s.MarkRead(ctx, staff10, id) },
		"all":  func(s *postgres.Store, ctx context.Context, id int64) error { return s.MarkAllRead(ctx, staff10, id) },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, id := withEvent(t)
			exec(t, s, "UPDATE notification SET escalates = true WHERE user_id = '10' AND channel IN ('PUSH', 'SMS') OR user_id = '11'")
			if name == "all" {
				exec(t, s, "UPDATE notification SET available_at = now() + interval '1 hour' WHERE event_id = 'evt-2'")
			}

			require.NoError(t, way(s, t.Context(), id))

			require.Equal(t, []string{"EMAIL SENT", "SMS SENT", "WEBSOCKET DELIVERED"}, list(t, s, "SELECT channel || ' ' || status FROM notification WHERE read_at IS NOT NULL ORDER BY channel"))
			require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM notification WHERE delivered_at IS NOT NULL"))
			require.Equal(t, []string{"ESCALATION evt-1-staff10-PUSH", "ESCALATION evt-1-staff10-SMS"}, followUpsOf(t, s), "also of what is still being sent")

			require.NoError(t, way(s, t.Context(), id))
			require.Len(t, followUpsOf(t, s), 2, "the second time says nothing new")
		})
	}
}

// An acknowledgement is told to the escalation that waits for it, once; where none waits,
// nothing is.
func TestAcknowledgementWakesTheEscalation(t *testing.T) {
	t.Parallel()

	s, id := withEvent(t)
	deliver(t, s, id)
	require.Empty(t, followUpsOf(t, s))

	s, id = withEvent(t)
	exec(t, s, "UPDATE notification SET escalates = true")
	deliver(t, s, id)
	deliver(t, s, id)
	require.Equal(t, []string{"ESCALATION " + socket}, followUpsOf(t, s))
}

// What is to be done is told to whoever listens, by receipts, acknowledgements and readers.
func TestFollowUpsAreTold(t *testing.T) {
	t.Parallel()

	s, id := withEvent(t)
	exec(t, s, "UPDATE notification SET escalates = true")
	conn, err := pgx.ConnectConfig(t.Context(), s.Pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "LISTEN delivery_follow_up")
	require.NoError(t, err)

	for _, tell := range []func(){
		func() { record(t, s, delivered("r-1")) },
		func() { deliver(t, s, id) },
		func() { require.NoError(t, s.MarkRead(t.Context(), staff10, id)) },
	} {
		tell()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := conn.WaitForNotification(ctx)
		cancel()
		require.NoError(t, err)
	}
}
