package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes/kafka/kafkatest"
)

// While a reminder of an order waits, its topic refuses it for good. It is sent again as soon
// as its service sets the row back, or by `event retry`, and the reminder goes on waiting. An
// order that is cancelled ends in its own table.
func TestSourcesWhilePeopleWait(t *testing.T) {
	t.Parallel()

	services, settings := newBusiness(t)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  poll_interval: 200ms
  kafka: { topic: "{{.event_type}}" }
  retries: 0
  people: true
`), 0o600))
	cluster := kafkatest.NewCluster(t)
	s := newSystem(t, settings[1], "OUTBOX_SOURCES="+file, "KAFKA_BROKERS="+cluster.Address)
	s.exec(`INSERT INTO recipient (user_type, user_id, email) VALUES ('CUSTOMER', '42', 'ada@example.com')`)
	s.exec(`INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path) VALUES ('OrderCreated', 'CUSTOMER', 'CUSTOMER', 'customerId')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay) VALUES ('OrderCreated', 'EMAIL', 'DELAYED', '1 day')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('OrderCreated', 'Your order', 'It comes')`)
	s.startWorker()
	s.starter("poller", "start")
	rows := func(want int, condition string) {
		t.Helper()
		s.eventually(func() bool { return services.count("SELECT count(*) FROM orders.outbox WHERE "+condition) == want }, "not %d rows are %s", want, condition)
	}
	services.exec(`
		INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', 'OrderCreated', '{"customerId":42}', 'NEW', now() AT TIME ZONE 'UTC' FROM generate_series(1, 3)`)
	rows(3, "status = 'FAILED' AND error_message LIKE '%UNKNOWN_TOPIC%'")
	s.awaitCount(3, "SELECT count(*) FROM notification WHERE status = 'PENDING'")
	var ids []string
	for i := range 3 {
		var id string
		require.NoError(t, services.Pool.QueryRow(t.Context(), "SELECT id::text FROM orders.outbox ORDER BY id OFFSET $1 LIMIT 1", i).Scan(&id))
		ids = append(ids, id)
	}
	require.Contains(t, s.starter("event", "show", ids[0]), "`starter event retry "+ids[0]+"` sends it again")

	kafkatest.CreateTopic(t, cluster.Address, "OrderCreated", nil)
	require.Contains(t, s.starter("event", "retry", ids[0]), "is sent to its topic again")
	rows(1, fmt.Sprintf("status = 'SENT' AND id = '%s'", ids[0]))
	services.exec("UPDATE orders.outbox SET status = 'NEW' WHERE id = $1", ids[1])
	rows(1, fmt.Sprintf("status = 'SENT' AND id = '%s'", ids[1]))
	s.awaitCount(2, "SELECT count(*) FROM event_outbox JOIN processed_event p USING (event_id) WHERE acknowledged_at IS NOT NULL AND p.status = 'PROCESSING'")
	s.awaitCount(3, "SELECT count(*) FROM notification WHERE status = 'PENDING'")
	require.Len(t, byEvent(t, kafkatest.Records(t, cluster.Address, "OrderCreated", 2)), 2)

	cluster.Stop()
	services.exec(`INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at) VALUES ('Order', 'OrderCreated', '{"customerId":42}', 'NEW', now() AT TIME ZONE 'UTC')`)
	s.awaitCount(4, "SELECT count(*) FROM notification WHERE status = 'PENDING'")
	var waiting string
	require.NoError(t, services.Pool.QueryRow(t.Context(), "SELECT id::text FROM orders.outbox WHERE status = 'NEW'").Scan(&waiting))
	s.starter("event", "cancel", waiting)
	rows(1, "status = 'FAILED' AND error_message = 'cancelled by an operator'")
	s.eventually(func() bool { return s.count("SELECT count(*) FROM event_outbox WHERE row_failed_at IS NOT NULL") == 1 }, "it is not recorded")
	cluster.Start(t)
	services.exec("UPDATE orders.outbox SET status = 'NEW' WHERE id = $1", waiting)
	rows(1, fmt.Sprintf("status = 'SENT' AND id = '%s'", waiting))
}
