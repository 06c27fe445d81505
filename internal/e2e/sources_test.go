package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/outboxes/dialects/dialecttest"
	"herald/internal/outboxes/kafka/kafkatest"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// otherOutboxes are the tables of the order service and of the wallet hub.
var otherOutboxes = "CREATE SCHEMA orders; " + dialecttest.Orders("orders.outbox") + dialecttest.Wallets("public.wallet_outbox")

const sourcesFile = `
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  poll_interval: 200ms
  batch_size: 10
  kafka: { topic: order-events, key: "{{.aggregate_id}}" }
- name: %s
  dialect: wallet-hub
  database_url_env: BUSINESS_DATABASE_URL
  table: public.wallet_outbox
  poll_interval: 200ms
  kafka: { topic: "{{.event_type}}-out-0" }
  retries: 1
`

// business is the database of two services, whose outboxes Herald serves.
type business struct {
	*postgres.Store
	t      *testing.T
	wallet string // the source of the wallet hub, whose name is in workflow ids: no other test has it
}

func newBusiness(t *testing.T) (business, []string) {
	t.Helper()
	url := postgrestest.URL(t)
	store, err := postgres.Open(t.Context(), url, "business")
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b := business{store, t, "wallet-" + uuid.NewString()[:8]}
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, sourcesFile, b.wallet), 0o600))
	b.exec(otherOutboxes)
	return b, []string{"OUTBOX_SOURCES=" + file, "BUSINESS_DATABASE_URL=" + url}
}

func (b business) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.Pool.Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
}

func (b business) count(sql string) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.Pool.QueryRow(b.t.Context(), sql).Scan(&n))
	return n
}

// byEvent are the values of records, by the header event_id.
func byEvent(t *testing.T, records []*kgo.Record) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, record := range records {
		for _, header := range record.Headers {
			if header.Key == "event_id" {
				values[string(header.Value)] = string(record.Value)
			}
		}
	}
	return values
}

// Rows that other services write by their own SQL come out on their topics, byte for byte,
// although the worker and the broker are killed meanwhile. A row whose topic does not exist
// waits, and is sent once the topic is there.
func TestSources(t *testing.T) {
	t.Parallel()

	services, settings := newBusiness(t)
	event := services.wallet + "-1"
	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", nil)
	s := newSystem(t, append(settings, "KAFKA_BROKERS="+cluster.Address)...)
	s.starter("migrate", "up")
	first := s.startWorker()
	s.starter("poller", "start")

	const orders = 200
	services.exec(`
		INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', 'OrderCreated', '{ "n":' || n || '.0, "text": "è" }', 'NEW', now() AT TIME ZONE 'UTC' FROM generate_series(1, $1::int) AS n`, orders)
	services.exec(`INSERT INTO wallet_outbox (event_type, payload, correlation_id) VALUES ('FundsAdded', 'no JSON', NULL)`)
	s.eventually(func() bool { return services.count(`SELECT count(*) FROM orders.outbox WHERE status = 'SENT'`) > 20 }, "no order is sent")
	first.kill()
	cluster.Stop()
	s.launchWorker() // it is not ready while the broker is away
	cluster.Start(t)
	s.eventually(func() bool {
		return services.count(`SELECT count(*) FROM orders.outbox WHERE status = 'SENT' AND sent_at IS NOT NULL`) == orders
	}, "not all orders are sent")
	require.Zero(t, s.count("SELECT count(*) FROM event_outbox"), "a row that goes well leaves nothing")

	sent := byEvent(t, kafkatest.Records(t, cluster.Address, "order-events", orders))
	require.Len(t, sent, orders)
	rows, err := services.Pool.Query(t.Context(), "SELECT id::text, payload FROM orders.outbox")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, payload string
		require.NoError(t, rows.Scan(&id, &payload))
		require.Equal(t, payload, sent[id])
	}

	s.awaitCount(1, `SELECT count(*) FROM source_topic WHERE source = $1 AND topic = 'FundsAdded-out-0'`, services.wallet)
	require.Contains(t, s.starter("source", "list"), "topic FundsAdded-out-0 rests")
	require.Equal(t, 1, services.count("SELECT count(*) FROM wallet_outbox WHERE NOT sent"))
	require.Contains(t, s.starter("source", "rows", services.wallet), "KEY")
	kafkatest.CreateTopic(t, cluster.Address, "FundsAdded-out-0", nil)
	s.eventually(func() bool { return services.count("SELECT count(*) FROM wallet_outbox WHERE sent") == 1 }, "the wallet's row is not sent")
	require.Equal(t, map[string]string{event: "no JSON"}, byEvent(t, kafkatest.Records(t, cluster.Address, "FundsAdded-out-0", 1)))

	status := s.starter("poller", "status", "--source", "orders")
	require.Contains(t, status, s.name+"-orders-poller-1")
	require.NotContains(t, status, "outbox-poller")
}
