package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay/dialects/dialecttest"
	"herald/workflows"
)

// Two outboxes and Herald's tables get a retention, and their rows are deleted on schedule. Then the
// retention changes. Then it is removed.
func TestCleaning(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "sources.yaml")
	s := newSystem(t, "OUTBOX_SOURCES="+file)
	schedule := s.temporal.ScheduleClient().GetHandle(t.Context(), workflows.CleaningID(s.name))
	s.exec("CREATE SCHEMA orders; " + dialecttest.Orders("orders.outbox"))
	s.exec(`
		INSERT INTO orders.outbox
		SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'Order', gen_random_uuid(), 'OrderCreated', '{}', status,
		       timezone('UTC', now()) - age, CASE status WHEN 'SENT' THEN timezone('UTC', now()) - age END
		FROM   (VALUES (1, 'SENT', interval '40 days'), (2, 'FAILED', '40 days'), (3, 'NEW', '40 days'),
		               (4, 'SENT', '10 days'), (5, 'SENT', '1 hour'), (6, 'SENT', '40 days')) AS row (n, status, age)`)
	s.exec(`
		INSERT INTO event_outbox (event_id, source, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at) VALUES
		('00000000-0000-4000-8000-000000000006', 'orders', 'OrderCreated', 'Order', '6', '{}', 'PROCESSED', now(), now() - interval '40 days'),
		('old', 'herald', 'T', 'ADMIN', '1', '{}', 'PROCESSED', now(), now() - interval '3 days')`)
	s.fill(postgrestest.ProcessedEvent{ID: "00000000-0000-4000-8000-000000000006"})
	retention := func(orders, herald string) {
		require.NoError(t,
			os.WriteFile(file, fmt.Appendf(nil,
				"- { name: herald%s }\n- { name: orders, dialect: order-service, table: orders.outbox, people: true%s }\n", herald, orders), 0o600))
	}
	rows := func() string {
		return postgrestest.Get[string](t, s.store, `SELECT string_agg(right(id::text, 1), ' ' ORDER BY id) FROM orders.outbox`)
	}

	retention("", "")
	w := s.startWorker("--events")
	require.NoError(t, w.stop())
	_, err := schedule.Describe(t.Context())
	require.Error(t, err, "deletion is off by default")

	s.oldRows()
	kept := s.with("RETENTION_EVENTS=720h", "RETENTION_EVENT_IDS=720h", "RETENTION_NOTIFICATIONS=720h", "RETENTION_ACTIONS=720h",
		"RETENTION_PREFERENCES=720h")
	retention(", retention: 720h", "")
	w = kept.startWorker("--events")
	s.eventually(func() bool { return schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}) == nil }, "nobody scheduled the cleaning")
	s.eventually(func() bool { return rows() == "2 3 4 5 6" }, "the rows that are done do not leave")
	s.eventually(func() bool { return strings.Contains(w.metrics(), `herald_outbox_deleted_total{source="orders"} 1`) }, "it is not counted")
	s.oldRowsLeave(w)
	require.NoError(t, w.stop())

	retention(", retention: 24h", ", retention: 48h")
	w = s.startWorker("--events")
	s.eventually(func() bool {
		_ = schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{})
		return rows() == "2 3 5 6"
	}, "the schedule does not know the new setting")
	s.awaitCount(0, `SELECT count(*) FROM event_outbox WHERE event_id = 'old'`)
	require.NoError(t, w.stop())

	retention("", "")
	w = s.startWorker("--events")
	s.eventually(func() bool {
		_, err := schedule.Describe(t.Context())
		return err != nil
	}, "the schedule stays")
	require.NoError(t, w.stop())
}

// oldRows writes two old events, of which one is open.
func (s *system) oldRows() {
	at := time.Now().AddDate(0, 0, -40)
	for id, status := range map[string]notification.ProcessedStatus{"ended": notification.ProcessedSuccess, "open": notification.Processing} {
		s.fill(
			postgrestest.Event{ID: id, Status: notification.OutboxProcessed, CreatedAt: at},
			postgrestest.ProcessedEvent{ID: id, Status: status, CreatedAt: at, UpdatedAt: at}, postgrestest.Decisions{EventID: id, DecidedAt: at},
			postgrestest.Delivery{ID: id, EventID: id, Status: notification.Sent, SentAt: at, CreatedAt: at},
			postgrestest.Attempt{DeliveryID: id})
	}
	s.fill(
		postgrestest.Receipt{Provider: "twilio", ID: "r", DeliveryID: "ended", At: at, ReceivedAt: at},
		postgrestest.Action{At: at, Command: "emit", Target: "ended"})
	s.exec(`
		INSERT INTO preference_change (at, user_type, user_id, setting, old_value, new_value)
		VALUES (now() - interval '40 days', 'ADMIN', '1', 'ENABLED', 'true', 'false')`)
}

// oldRowsLeave waits until all tables have lost the rows of ended events. The rows of open events stay.
func (s *system) oldRowsLeave(w *worker) {
	for table, left := range map[string]int{
		"event_outbox": 3, "processed_event": 2, "notification_decision": 1, "notification": 1, "delivery_attempt": 1, "delivery_receipt": 0,
		"preference_change": 0,
	} {
		s.awaitCount(left, "SELECT count(*) FROM "+table)
	}
	s.awaitCount(0, "SELECT count(*) FROM operator_action WHERE target = 'ended'")
	s.awaitCount(1, "SELECT count(*) FROM notification WHERE delivery_id = 'open'")
	s.eventually(func() bool {
		return strings.Contains(w.metrics(), `herald_outbox_deleted_total{source="herald.notification"} 1`)
	}, "it is not counted")
}
