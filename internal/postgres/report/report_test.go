package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
	"herald/internal/postgres/report"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const mail = "evt-1-staff10-EMAIL"

// told is a database of its own with two events. evt-1 of restaurant 5 was decided
// for staff 9, who gets nothing, and for staff 10 and 11; evt-2 went to customer 10.
// Their four deliveries, 1 to 4, were planned an hour apart, the last at noon.
func told(t *testing.T) report.Reader {
	t.Helper()
	r := report.Reader{Pool: postgrestest.New(t).Pool}
	exec(t, r, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, status, published_at, attempt_count, error_message, created_at)
		VALUES ('evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{}', 'order-1', 'PROCESSED', now(), 1, NULL, '2026-11-21 09:00Z'),
		       ('evt-2', 'OTHER', 'RESTAURANT', '6', '{}', NULL, 'FAILED', NULL, 3, 'no', '2026-11-21 10:00Z'),
		       ('evt-3', 'OTHER', 'RESTAURANT', '6', '{}', NULL, 'PENDING', NULL, 0, NULL, '2026-11-21 11:00Z');
		INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'PROCESSING');
		INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('evt-1', 'RESTAURANT_USER', '10', '{"EMAIL": "SELECTED", "SLACK": "NO_ADDRESS"}'),
		       ('evt-1', 'RESTAURANT_USER', '11', '{"SMS": "SELECTED"}'),
		       ('evt-1', 'RESTAURANT_USER', '9', '{"EMAIL": "USER_DISABLED"}');
		INSERT INTO notification (id, event_id, event_type, correlation_id, user_type, user_id, entity_type, entity_id, channel, delivery_id,
		                          title, body, recipient_address, status, last_error, digest_id)
		OVERRIDING SYSTEM VALUE
		VALUES (1, 'evt-1', 'RESERVATION_REQUESTED', NULL, 'RESTAURANT_USER', '10', NULL, NULL, 'EMAIL', 'evt-1-staff10-EMAIL', 'a', 'b', 'c', 'PENDING', NULL, NULL),
		       (2, 'evt-1', 'RESERVATION_REQUESTED', 'c-2', 'RESTAURANT_USER', '11', 'RESTAURANT', '5', 'SMS', 'evt-1-staff11-SMS', 'a', 'b', 'c', 'PENDING', NULL, NULL),
		       (3, 'evt-2', 'OTHER', 'c-3', 'CUSTOMER', '10', 'RESTAURANT', '5', 'SMS', 'evt-2-customer10-SMS', 'a', 'b', 'c', 'FAILED', 'twilio refused: 400 21211', NULL),
		       (4, 'evt-2', 'OTHER', 'c-4', 'CUSTOMER', '10', 'RESTAURANT', '6', 'PUSH', 'evt-2-customer10-PUSH', 'a', 'b', NULL, 'CANCELLED', 'cancelled', 'digest-1')`)
	exec(t, r, "UPDATE notification SET created_at = $1::timestamptz - (4 - id) * interval '1 hour'", noon)
	return r
}

func exec(t *testing.T, r report.Reader, sql string, params ...any) {
	t.Helper()
	_, err := r.Pool.Exec(t.Context(), sql, params...)
	require.NoError(t, err)
}

func TestDeliveryCounts(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET created_at = now() - (4 - id) * interval '1 hour', channel = 'SMS' WHERE channel <> 'PUSH'")

	counts, err := r.DeliveryCounts(t.Context(), 150*time.Minute)
	require.NoError(t, err)
	require.Equal(t, []report.DeliveryCount{
		{Channel: notification.SMS, Status: notification.Failed, Count: 1},
		{Channel: notification.SMS, Status: notification.Pending, Count: 1},
	}, counts)
	counts, err = r.DeliveryCounts(t.Context(), 5*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 2, counts[1].Count, "the older one is counted too")
	counts, err = r.DeliveryCounts(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []report.DeliveryCount{}, counts)
}

func TestIncompleteEvents(t *testing.T) {
	t.Parallel()

	r := told(t)
	count, err := r.IncompleteEvents(t.Context())
	require.NoError(t, err)
	require.Zero(t, count)
	exec(t, r, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE'")
	count, err = r.IncompleteEvents(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, count)
}

func TestActions(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, `
		INSERT INTO operator_action (actor, command, target, detail, at)
		VALUES ('ada', 'event retry', 'evt-1', '', '2026-11-21 10:00Z'),
		       ('ada', 'event cancel', 'evt-2', 'in bulk', '2026-11-21 11:00Z'),
		       ('eve', 'event retry', 'evt-1', '', '2026-11-21 12:00Z')`)
	tests := []struct {
		name   string
		filter report.ActionFilter
		want   []string
	}{
		{name: "all, bounded", filter: report.ActionFilter{}, want: []string{"eve event retry evt-1", "ada event cancel evt-2"}},
		{name: "actor", filter: report.ActionFilter{Actor: "ada"}, want: []string{"ada event cancel evt-2", "ada event retry evt-1"}},
		{name: "command", filter: report.ActionFilter{Command: "event cancel"}, want: []string{"ada event cancel evt-2"}},
		{name: "target", filter: report.ActionFilter{Target: "evt-2"}, want: []string{"ada event cancel evt-2"}},
		{name: "since is included", filter: report.ActionFilter{Since: noon}, want: []string{"eve event retry evt-1"}},
		{name: "several conditions", filter: report.ActionFilter{Actor: "eve", Target: "evt-2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			actions, err := r.Actions(t.Context(), tt.filter, 2)

			require.NoError(t, err)
			var got []string
			for _, a := range actions {
				got = append(got, a.Actor+" "+a.Command+" "+a.Target)
			}
			require.Equal(t, tt.want, got)
		})
	}
}
