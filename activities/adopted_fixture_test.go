package activities_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
	"herald/internal/source"
	"herald/internal/source/sourcetest"
)

// service is a business service with an outbox of its own, in a database of its own, and
// what Herald has of it.
type service struct {
	business, herald *postgres.Store
	config           notification.SourceConfig
	table            *source.Table
	outbox           *activities.AdoptedOutbox
}

func newService(t *testing.T, create string, config notification.SourceConfig) *service {
	t.Helper()
	config.DatabaseURL, config.Table, config.PollInterval, config.Zone = postgrestest.URL(t), "public.outbox", 10*time.Millisecond, cmp.Or(config.Zone, time.UTC)
	business, err := postgres.Open(t.Context(), config.DatabaseURL, "business")
	require.NoError(t, err)
	t.Cleanup(business.Close)
	exec(t, business, create)
	table, err := source.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	s := &service{business: business, herald: postgrestest.New(t), config: config, table: table}
	s.outbox = s.another()
	return s
}

// another is the outbox as another process has it.
func (s *service) another() *activities.AdoptedOutbox {
	return &activities.AdoptedOutbox{Source: s.config, Table: s.table, Store: s.herald}
}

var toOrders = &notification.KafkaRoute{Topic: "order-events", Key: "{{.aggregate_id}}"}

func orderService(t *testing.T) *service {
	return newService(t, sourcetest.Orders("outbox"), notification.SourceConfig{Name: "orders", Dialect: notification.OrderService, Kafka: toOrders})
}

func walletHub(t *testing.T) *service {
	return newService(t, sourcetest.Wallets("outbox"), notification.SourceConfig{Name: "wallet", Dialect: notification.WalletHub, Kafka: &notification.KafkaRoute{Topic: "{{.event_type}}-out-0"}})
}

// orderID is the id of the n-th order's event.
func orderID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

const insertOrders = `
	INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
	SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Order', '00000000-0000-4000-8000-000000000099', 'OrderCreated', '{ "order": ' || n || ' }',
	       'NEW', timestamp '2026-11-21 10:00' + n * interval '1 millisecond'
	FROM   generate_series($1::int, $2::int) AS n`

// orders writes the rows of orders from to to, as their service does.
func (s *service) orders(t *testing.T, from, to int) {
	t.Helper()
	exec(t, s.business, insertOrders, from, to)
}

// rows counts the rows of the service's table that a condition holds for.
func (s *service) rows(t *testing.T, condition string) int {
	t.Helper()
	var count int
	require.NoError(t, s.business.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox WHERE "+condition).Scan(&count))
	return count
}

// awaitRows waits until a condition holds for so many rows of the service's table.
func (s *service) awaitRows(t *testing.T, want int, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return s.rows(t, condition) == want }, patience, 5*time.Millisecond, condition)
}

// poll starts a poller of the service's outbox.
func (s *service) poll(t *testing.T, launcher activities.EventLauncher) *poller {
	t.Helper()
	return poll(t, s.outbox, launcher, eager)
}

// begin opens a transaction of the service's.
func (s *service) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := s.business.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
	return tx
}
