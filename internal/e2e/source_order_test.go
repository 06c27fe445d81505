package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/outboxes/kafka/kafkatest"
)

const orderedSource = `
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  poll_interval: 200ms
  pollers: 2
  kafka: { topic: order-events, key: "{{.aggregate_id}}" }
  people: true
  batch_size: 20
`

// Rows come out in the order of their keys, and people are told, although two workers have two
// pollers, one of the workers is killed, and the broker is stopped.
func TestSourceInOrder(t *testing.T) {
	t.Parallel()

	const rows, orders = 2000, 30
	services, settings := newBusiness(t)
	require.NoError(t, os.WriteFile(strings.TrimPrefix(settings[0], "OUTBOX_SOURCES="), []byte(orderedSource), 0o600))
	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", nil)
	s := newSystem(t, append(settings, "KAFKA_BROKERS="+cluster.Address)...)
	s.starter("migrate", "up")
	first := s.startWorker()
	s.startWorker()
	services.exec(`
		INSERT INTO orders.outbox (aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT 'Order', md5((n % $2)::text)::uuid, 'OrderCreated', '{"n": ' || n || '}', 'NEW', timestamp '2026-11-22 10:00' + n * interval '1 millisecond'
		FROM   generate_series(1, $1::int) AS n`, rows, orders)
	s.starter("poller", "start")
	sent := func() int { return services.count(`SELECT count(*) FROM orders.outbox WHERE status = 'SENT'`) }
	s.eventually(func() bool { return sent() > 100 }, "no row is sent")
	first.kill()
	cluster.Stop()
	s.launchWorker() // it is not ready while the broker is away
	cluster.Start(t)
	s.eventually(func() bool { return sent() == rows }, "not all rows are sent")

	want := map[string][]string{}
	found, err := services.Pool.Query(t.Context(), "SELECT aggregate_id::text, payload FROM orders.outbox ORDER BY created_at")
	require.NoError(t, err)
	defer found.Close()
	for found.Next() {
		var order, n string
		require.NoError(t, found.Scan(&order, &n))
		want[order] = append(want[order], n)
	}
	records := kafkatest.Records(t, cluster.Address, "order-events", rows)
	require.Equal(t, want, firstByKey(records))
	t.Logf("%d of %d records are repeats", len(records)-rows, len(records))
	s.awaitCount(rows, "SELECT count(*) FROM event_outbox o JOIN processed_event p USING (event_id) WHERE source = 'orders' AND p.status = 'SUCCESS'")
}

// firstByKey are the values of records, by key and in their order, without repeats.
func firstByKey(records []*kgo.Record) map[string][]string {
	values, seen := map[string][]string{}, map[string]bool{}
	for _, record := range records {
		if value := string(record.Value); !seen[value] {
			seen[value] = true
			values[string(record.Key)] = append(values[string(record.Key)], value)
		}
	}
	return values
}
