package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

func TestDeliveryCounts(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET created_at = now() - (4 - id) * interval '1 hour', channel = 'SMS' WHERE channel <> 'PUSH'")

	counts := roomtest.Must(r.DeliveryCounts(t.Context(), 150*time.Minute))(t)
	require.Equal(t, []report.DeliveryCount{
		{Channel: notification.SMS, Status: notification.Failed, Count: 1},
		{Channel: notification.SMS, Status: notification.Pending, Count: 1},
	}, counts)
	counts = roomtest.Must(r.DeliveryCounts(t.Context(), 5*time.Hour))(t)
	require.Equal(t, 2, counts[1].Count, "the older one is counted too")
	counts = roomtest.Must(r.DeliveryCounts(t.Context(), 0))(t)
	require.Equal(t, []report.DeliveryCount{}, counts)
}

func TestUnplannedEvents(t *testing.T) {
	t.Parallel()

	store := postgrestest.New(t)
	r := report.Reader{Pool: store.Pool}
	require.Zero(t, roomtest.Must(r.UnplannedEvents(t.Context()))(t).Count)
	postgrestest.Exec(t, store, `INSERT INTO processed_event (event_id, created_at, status) VALUES
		('stuck', now() - interval '1 hour', 'PROCESSING'), ('older', now() - interval '2 hours', 'PROCESSING'), ('new', now(), 'PROCESSING'),
		('planned', now() - interval '1 hour', 'PROCESSING'), ('awaits', now() - interval '1 hour', 'PROCESSING'),
		('ended', now() - interval '1 hour', 'SUCCESS')`)
	postgrestest.Exec(t, store, `INSERT INTO event_approval (event_id) VALUES ('awaits')`)
	postgrestest.Exec(t, store, `INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('planned', 'CUSTOMER', '1', '{}')`)
	got := roomtest.Must(r.UnplannedEvents(t.Context()))(t)
	require.Equal(t, []any{2, "older"}, []any{got.Count, got.OldestID})
	require.WithinDuration(t, time.Now().Add(-2*time.Hour), got.Since, time.Hour)
}

func TestIncompleteEvents(t *testing.T) {
	t.Parallel()

	r := told(t)
	require.Zero(t, roomtest.Must(r.IncompleteEvents(t.Context()))(t))
	exec(t, r, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE'")
	require.Equal(t, 1, roomtest.Must(r.IncompleteEvents(t.Context()))(t))
}

func TestCompletions(t *testing.T) {
	t.Parallel()

	r := told(t)
	require.Equal(t, []string{"evt-2-customer10-PUSH"}, roomtest.Must(r.DeliveryIDs(t.Context(), "evt-2-", 1))(t))
	require.Equal(t, []string{"evt-3", "evt-2"}, roomtest.Must(r.EventIDs(t.Context(), "evt-", 2))(t))
	require.Empty(t, roomtest.Must(r.EventIDs(t.Context(), "%", 2))(t))
}

const mail = roomtest.Mail

// told returns a reader of [roomtest.TwoEvents].
func told(t *testing.T) report.Reader {
	t.Helper()
	return report.Reader{Pool: roomtest.TwoEvents(t).Pool}
}

func exec(t *testing.T, r report.Reader, sql string, params ...any) {
	t.Helper()
	roomtest.Must(r.Pool.Exec(t.Context(), sql, params...))(t)
}
