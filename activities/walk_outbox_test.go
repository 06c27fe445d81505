package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/outboxes/dialects/dialecttest"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// ordersOf claims the events that the rows of a service became.
type ordersOf struct{ *postgres.Store }

func (o ordersOf) ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error) {
	return o.ClaimEventsOf(ctx, "orders", owner, limit, lease)
}

// The poller of a service's outbox adopts its rows, and starts the workflows of its events.
func TestPollOutboxOfAService(t *testing.T) {
	t.Parallel()

	source := outboxes.Source{Name: "orders", Dialect: outboxes.OrderService, DatabaseURL: postgrestest.URL(t), Table: "public.outbox", PollInterval: 10 * time.Millisecond, BatchSize: 10, Pollers: 1, People: true}
	business, err := postgres.Open(t.Context(), source.DatabaseURL, "business")
	require.NoError(t, err)
	t.Cleanup(business.Close)
	exec(t, business, dialecttest.Orders("outbox"))
	exec(t, business, `INSERT INTO outbox (aggregate_type, event_type, payload, status, created_at) SELECT 'Order', 'OrderCreated', '{}', 'NEW', now() FROM generate_series(1, 25)`)
	table, err := dialects.Open(t.Context(), source)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	herald := postgrestest.New(t)

	started := &launcher{}
	p := poll(t, ordersOf{herald}, started, activities.Source{Walk: &outboxes.Walk{Source: source, Table: table, Memory: herald}, Interval: 10 * time.Millisecond, BatchSize: 10})
	await(t, herald, 25, "source = 'orders' AND status = 'PROCESSED'")
	require.Eventually(t, func() bool {
		var sent int
		require.NoError(t, business.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox WHERE status = 'SENT'").Scan(&sent))
		return sent == 25
	}, patience, 5*time.Millisecond)
	result := p.stop(t)
	require.Equal(t, 25, result.Sent)
	require.Equal(t, 25, result.Started)
	require.True(t, started.sources["orders"])
}
