package dialects_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/relay/dialects/dialecttest"
)

// service is the test's business database.
type service struct {
	config relay.Source
	conn   *pgx.Conn
}

func newService(t *testing.T, config relay.Source, table string) service {
	t.Helper()
	config.DatabaseURL = single(t, postgrestest.URL(t))
	conn, err := pgx.Connect(t.Context(), config.DatabaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	s := service{config, conn}
	s.exec(t, table)
	return s
}

// single removes the pool size from a URL, because a single connection rejects it.
func single(t *testing.T, pooled string) string {
	t.Helper()
	u, err := url.Parse(pooled)
	require.NoError(t, err)
	query := u.Query()
	query.Del("pool_max_conns")
	u.RawQuery = query.Encode()
	return u.String()
}

func orders(t *testing.T) service {
	return newService(t, relay.Source{Name: "orders", Dialect: relay.OrderService, Table: "orders.outbox", Zone: time.UTC},
		"CREATE SCHEMA orders; "+dialecttest.Orders("orders.outbox"))
}

func wallet(t *testing.T) service {
	return newService(t, relay.Source{Name: "wallet", Dialect: relay.WalletHub, Table: "public.outbox"}, dialecttest.Wallets("public.outbox"))
}

func (s service) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// table opens the service's outbox like Herald.
func (s service) table(t *testing.T) *dialects.Table {
	t.Helper()
	table, err := dialects.Open(t.Context(), s.config)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	return table
}

// text reads one value of the service's table.
func (s service) text(t *testing.T, sql string, args ...any) (value string) {
	t.Helper()
	require.NoError(t, s.conn.QueryRow(t.Context(), sql, args...).Scan(&value))
	return value
}

// state reads the backlog of the service's table. The age of its oldest row lies between two
// readings of the database's clock.
func (s service) state(t *testing.T, pending string, failed ...string) (state notification.OutboxState) {
	t.Helper()
	age := func() (age time.Duration) {
		require.NoError(t, s.conn.QueryRow(t.Context(),
			"SELECT clock_timestamp() - timezone('UTC', min(created_at)) FROM "+s.config.Table+" WHERE "+pending).Scan(&age))
		return age
	}
	before := age()
	state, err := s.table(t).State(t.Context(), failed)
	require.NoError(t, err)
	require.GreaterOrEqual(t, state.OldestPending, before)
	require.LessOrEqual(t, state.OldestPending, age())
	return state
}

// id is a uuid that ends in two digits.
func id(digits string) string { return "00000000-0000-4000-8000-0000000000" + digits }

// addOrder inserts a row like the order service.
func (s service) addOrder(t *testing.T, digits, status, createdAt, payload string) {
	t.Helper()
	s.exec(t, `
		INSERT INTO orders.outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		VALUES ($1, 'Order', $2, 'OrderCreated', $3, $4, $5::text::timestamp)`, id(digits), id("99"), payload, status, createdAt)
}

// keys returns the keys of rows.
func keys(rows []relay.Key) []string {
	var keys []string
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

// page reads pending rows after a cursor.
func page(t *testing.T, table *dialects.Table, after string, limit int) (rows []relay.Row, next string) {
	t.Helper()
	snapshot, err := table.Snapshot(t.Context())
	require.NoError(t, err)
	defer snapshot.Close(t.Context())
	rows, next, err = snapshot.Page(t.Context(), after, limit)
	require.NoError(t, err)
	return rows, next
}

// found returns the keys of all pending rows. It reads pages of two.
func found(t *testing.T, table *dialects.Table) []string {
	t.Helper()
	var all []string
	for after, more := "", true; more; more = after != "" {
		var rows []relay.Row
		rows, after = page(t, table, after, 2)
		require.LessOrEqual(t, len(rows), 2)
		for _, row := range rows {
			all = append(all, row.Key)
		}
	}
	return all
}
