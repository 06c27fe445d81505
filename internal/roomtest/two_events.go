package roomtest

import (
	"testing"
	"time"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
)

// Noon is the time of the last delivery of [TwoEvents].
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TwoEvents returns a separate database with two events. evt-1 of restaurant 5 was decided for
// staff 9, who gets nothing, and for staff 10 and 11. evt-2 went to customer 10. Their four
// deliveries, 1 to 4, were planned an hour apart, the last at noon.
func TwoEvents(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status,
		                          attempt_count, error_message, published_at, created_at)
		VALUES ('evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{}', 'PROCESSED', 1, NULL, now(), '2026-11-21 09:00Z'),
		       ('evt-2', 'OTHER', 'RESTAURANT', '6', '{}', 'FAILED', 3, 'no', NULL, '2026-11-21 10:00Z'),
		       ('evt-3', 'OTHER', 'RESTAURANT', '6', '{}', 'PENDING', 0, NULL, NULL, '2026-11-21 11:00Z');
		UPDATE event_outbox SET correlation_id = 'order-1' WHERE event_id = 'evt-1';
		INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'PROCESSING');
		INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('evt-1', 'RESTAURANT_USER', '10', '{"EMAIL": "SELECTED", "SLACK": "NO_ADDRESS"}'),
		       ('evt-1', 'RESTAURANT_USER', '11', '{"SMS": "SELECTED"}'),
		       ('evt-1', 'RESTAURANT_USER', '9', '{"EMAIL": "USER_DISABLED"}');
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id,
		                          title, body, recipient_address, status, last_error)
		OVERRIDING SYSTEM VALUE
		VALUES (1, 'evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT_USER', '10', 'EMAIL', 'evt-1-staff10-EMAIL', 'a', 'b', 'c', 'PENDING', NULL),
		       (2, 'evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT_USER', '11', 'SMS', 'evt-1-staff11-SMS', 'a', 'b', 'c', 'PENDING', NULL),
		       (3, 'evt-2', 'OTHER', 'CUSTOMER', '10', 'SMS', 'evt-2-customer10-SMS', 'a', 'b', 'c', 'FAILED', 'twilio refused: 400 21211'),
		       (4, 'evt-2', 'OTHER', 'CUSTOMER', '10', 'PUSH', 'evt-2-customer10-PUSH', 'a', 'b', NULL, 'CANCELLED', 'cancelled');
		UPDATE notification SET correlation_id = 'c-' || id, entity_type = 'RESTAURANT', entity_id = '5' WHERE id IN (2, 3);
		UPDATE notification SET correlation_id = 'c-4', entity_type = 'RESTAURANT', entity_id = '6', digest_id = 'digest-1' WHERE id = 4`)
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = $1::timestamptz - (4 - id) * interval '1 hour'", Noon)
	return s
}
