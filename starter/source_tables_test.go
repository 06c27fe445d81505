package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
)

// Many events are retried at once: their table is opened once, and closed at the end.
func TestReopenAtOnce(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	orders := notification.SourceConfig{Name: "orders", Dialect: notification.OrderService, Table: "orders.outbox", DatabaseURL: c.environment["DATABASE_URL"], Zone: time.UTC}
	tables := newSourceTables(map[string]notification.SourceConfig{"orders": orders})
	c.exec(t, `INSERT INTO orders.outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT ('00000000-0000-4000-8000-0000000000' || n)::uuid, 'Order', gen_random_uuid(), 'OrderCreated', '{}', 'FAILED', now() FROM generate_series(10, 41) AS n`)
	var group errgroup.Group
	for n := range 32 {
		group.Go(func() error {
			return tables.reopen(t.Context(), "orders", fmt.Sprintf("00000000-0000-4000-8000-0000000000%d", 10+n))
		})
	}
	require.NoError(t, group.Wait())
	tables.close()
	db := c.store(t)
	require.Eventually(t, func() bool {
		var open int
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'herald-source-orders'").Scan(&open))
		return open == 0
	}, time.Minute, 10*time.Millisecond, "one is left open")
}
