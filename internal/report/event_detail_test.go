package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

func eventDetail(t *testing.T, r report.Reader, limit int) report.EventDetail {
	t.Helper()
	return roomtest.Must(r.EventDetail(t.Context(), "evt-1", limit, 0))(t)
}

func TestEventDetail(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, `
		UPDATE notification
		SET    status = 'FAILED', last_error = 'no', attempt_count = 1, digest_id = 'digest-1', send_after = $1
		WHERE  id = 1`, roomtest.Noon)
	exec(t, r, "INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) VALUES ($1, 'run-1', false, 'FAILED')", mail)

	got := eventDetail(t, r, 10)

	require.Equal(t, []any{"RESERVATION_REQUESTED", "RESTAURANT/5", "order-1", notification.OutboxProcessed, 1},
		[]any{got.Outbox.EventType, got.Outbox.Aggregate(), got.Outbox.CorrelationID, got.Outbox.Status, got.Outbox.AttemptCount})
	require.NotNil(t, got.Outbox.PublishedAt)
	require.Nil(t, got.Outbox.LeaseUntil)
	require.Equal(t, notification.Processing, got.Processed.Status)
	require.Zero(t, got.More)
	require.Len(t, got.Recipients, 3)

	require.Equal(t, "9", got.Recipients[0].UserID, "numbers are sorted as numbers")
	require.Empty(t, got.Recipients[0].Deliveries)
	who := got.Recipients[1]
	require.Equal(t, notification.RestaurantUser, who.UserType)
	require.Equal(t, map[notification.Channel]notification.Decision{
		notification.Email: notification.DecisionSelected,
		notification.Slack: notification.DecisionNoAddress,
	}, who.Decisions)
	require.Len(t, who.Deliveries, 1)
	delivery := who.Deliveries[notification.Email]
	require.True(t, roomtest.Noon.Equal(*delivery.SendAfter))
	delivery.SendAfter = nil
	require.Equal(t, report.RecipientDelivery{
		DeliveryID: mail, Status: notification.Failed, Attempts: 1, LastError: "no", CreatedAt: delivery.CreatedAt, DigestID: "digest-1",
		Retries: 1,
	}, delivery)
	require.Equal(t, notification.Pending, got.Recipients[2].Deliveries[notification.SMS].Status)

	first := eventDetail(t, r, 2)
	require.Len(t, first.Recipients, 2)
	require.Equal(t, 1, first.More)
	require.Equal(t, "10", first.Recipients[0].UserID)
	require.Len(t, first.Recipients[0].Deliveries, 1)
	require.False(t, first.AtLeast)

	counted := roomtest.Must(r.EventDetail(t.Context(), "evt-1", 1, 2))(t)
	require.Equal(t, 1, counted.More, "the count stops at two")
	require.True(t, counted.AtLeast)
}

// In an event with more deliveries than are counted, the open ones count first.
func TestEventDetailCountsOpenDeliveriesFirst(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, `
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, sent_at)
		OVERRIDING SYSTEM VALUE
		SELECT n, 'evt-1', 'T', 'RESTAURANT_USER', n, 'SMS', 'sms-' || n, 'a', 'b', 'SENT', now() FROM generate_series(100, 104) n`)
	exec(t, r, "UPDATE notification SET status = 'FAILED', last_error = 'x' WHERE delivery_id = 'sms-104'")
	got := roomtest.Must(r.EventDetail(t.Context(), "evt-1", 1, 4))(t)
	require.True(t, got.AtLeast)
	want := map[notification.Status]int{notification.Pending: 2, notification.Failed: 1, notification.Sent: 4}
	require.Equal(t, want, got.Deliveries.ByStatus)
}

// All deliveries of an event count, also of recipients who are not shown. A recipient who
// has read several counts once.
func TestEventDetailCountsDeliveries(t *testing.T) {
	t.Parallel()

	r := told(t)
	require.Equal(t, report.DeliveryTotals{ByStatus: map[notification.Status]int{notification.Pending: 2}}, eventDetail(t, r, 1).Deliveries)
	exec(t, r, `
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, sent_at, delivered_at)
		OVERRIDING SYSTEM VALUE
		VALUES (5, 'evt-1', 'T', 'RESTAURANT_USER', '10', 'SMS', 'd5', 'a', 'b', 'DELIVERED', now(), now()),
		       (6, 'evt-1', 'T', 'RESTAURANT_USER', '10', 'PUSH', 'd6', 'a', 'b', 'SENT', now(), NULL)`)
	exec(t, r, "UPDATE notification SET read_at = $1 WHERE event_id = 'evt-1' AND user_id = '10'", roomtest.Noon)

	got := eventDetail(t, r, 10)

	require.Equal(t, report.DeliveryTotals{
		ByStatus: map[notification.Status]int{notification.Pending: 2, notification.Delivered: 1, notification.Sent: 1}, ReadBy: 1,
	}, got.Deliveries)
	require.True(t, roomtest.Noon.Equal(*got.Recipients[1].Deliveries[notification.SMS].ReadAt))
	require.Nil(t, got.Recipients[2].Deliveries[notification.SMS].ReadAt)
}

// Failures in a batch have a workflow up to a limit. The other failures are counted.
func TestEventDetailCountsFailuresWithoutAWorkflow(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, `
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error,
		       attempt_count, failed_child)
		OVERRIDING SYSTEM VALUE
		SELECT n, 'evt-1', 'T', 'CUSTOMER', n::text, 'SMS', 'd' || n, 'a', 'b', 'FAILED', 'refused', 1, CASE n WHEN 11 THEN true WHEN 12 THEN NULL
		       ELSE false END
		FROM   generate_series(11, 14) AS n`)

	require.Equal(t, 2, eventDetail(t, r, 1).Deliveries.FailedWithoutWorkflow, "not 11, which has one; not 12, which failed in a workflow")
}

func TestEventDetailOfNoEvent(t *testing.T) {
	t.Parallel()

	r := told(t)
	require.ErrorIs(t, roomtest.ErrOf(r.EventDetail(t.Context(), "evt-404", 10, 0)), notification.ErrNoEvent)
	exec(t, r, "DELETE FROM event_outbox")
	got := eventDetail(t, r, 10)
	require.Nil(t, got.Outbox)
	require.Equal(t, notification.Processing, got.Processed.Status)
}

// An event that cancels an unknown event shows that, until the other event comes.
func TestEventDetailCancelsAnUnknownEvent(t *testing.T) {
	t.Parallel()

	r := told(t)
	for cancels, unknown := range map[string]bool{"evt-404": true, "evt-2": false} {
		exec(t, r, "UPDATE event_outbox SET cancels = $1 WHERE event_id = 'evt-1'", cancels)
		require.Equal(t, unknown, eventDetail(t, r, 1).Outbox.CancelsUnknown, cancels)
	}
	exec(t, r, "UPDATE event_outbox SET cancels = NULL")
	require.False(t, eventDetail(t, r, 1).Outbox.CancelsUnknown)
}

// A decision outlives the event's row. Only an unknown event is an error.
func TestDecided(t *testing.T) {
	t.Parallel()

	key := report.DecisionKey{EventID: "evt-1", UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email}
	r := told(t)
	got := roomtest.Must(r.Decided(t.Context(), key))(t)
	require.Equal(t, "RESERVATION_REQUESTED", got.EventType)
	require.Equal(t, "5", got.Outbox.AggregateID)
	require.Equal(t, "PROCESSING", string(got.Processed.Status))
	require.Equal(t, map[notification.Channel]notification.Decision{notification.Email: "SELECTED", notification.Slack: "NO_ADDRESS"},
		got.Decisions)
	require.False(t, got.DecidedAt.IsZero())
	require.Equal(t, 1, roomtest.Must(r.Chosen(t.Context(), key.EventID, key.Channel))(t))

	key.UserID = "404"
	got = roomtest.Must(r.Decided(t.Context(), key))(t)
	require.Nil(t, got.Decisions)

	exec(t, r, "DELETE FROM event_outbox; DELETE FROM processed_event; DELETE FROM notification_decision")
	got = roomtest.Must(r.Decided(t.Context(), key))(t)
	require.Nil(t, got.Outbox)
	require.Equal(t, "RESERVATION_REQUESTED", got.EventType, "the deliveries have the type")

	key.EventID = "evt-404"
	require.ErrorIs(t, roomtest.ErrOf(r.Decided(t.Context(), key)), notification.ErrNoEvent)
}
