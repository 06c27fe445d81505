package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// The statements of an event and of its deliveries are planned a few times and then no more,
// also in a table where one event has nearly all rows: planning one takes the database longer
// than running it.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()

	const rounds = 12 // Postgres plans the first five of a connection anew in any case
	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		SELECT 'broadcast', 'T', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, 'title', 'body'
		FROM   generate_series(1, 5000) AS i`)
	for i := range rounds {
		emitEvent(t, s, fmt.Sprint("evt-", i))
	}
	exec(t, s, "VACUUM ANALYZE")
	config := s.Pool.Config()
	config.MaxConns = 1 // plans are those of one connection
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	one := &postgres.Store{Pool: pool}

	for i := range rounds {
		way(t, one, fmt.Sprint("evt-", i))
	}

	require.Empty(t, list(t, one, "SELECT statement FROM pg_prepared_statements WHERE custom_plans > 5"))
	require.NotEmpty(t, list(t, one, "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 5"))
}

// A plan that was made when a table was empty, or when all deliveries were SENT, does not read
// all rows when there are more, or when all of a broadcast are PENDING: it is kept until
// somebody analyzes the table.
func TestKeptPlansOfTablesThatGrow(t *testing.T) {
	t.Parallel()

	const few, many = 100, 5000                                                                           // rows
	one, s, err := postgres.OpenTwo(t.Context(), postgrestest.URL(t)+"&pool_max_conns=2", "one", "other") // a connection each
	require.NoError(t, err)
	defer one.Close()
	defer s.Close()
	for _, table := range list(t, s, "SELECT quote_ident(relname) FROM pg_stat_user_tables") {
		exec(t, s, "ALTER TABLE "+table+" SET (autovacuum_enabled = false)")
	}
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, attempt_count, status, sent_at)
		SELECT 'sent-' || i, 'T', 'CUSTOMER', i::text, 'EMAIL', 's' || i, 'title', 'body', 1, 'SENT', now()
		FROM   generate_series(1, $1::int) AS i`, many)
	exec(t, s, "VACUUM ANALYZE notification")
	for i := range 8 {
		emitEvent(t, s, fmt.Sprint("evt-", i))
		way(t, one, fmt.Sprint("evt-", i))
	}
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT 'old-' || i, 'T', 'A', '1', '{}' FROM generate_series(1, $1::int) AS i`, many)
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, attempt_count)
		SELECT 'old-' || i, 'T', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, 'title', 'body', 1
		FROM   generate_series(1, $1::int) AS i`, many)
	exec(t, s, "INSERT INTO delivery_attempt (delivery_id, attempt) SELECT 'd' || i, 1 FROM generate_series(1, $1::int) AS i", many)
	read := func() map[string]int {
		exec(t, one, "SELECT pg_stat_force_next_flush()")
		rows, _ := s.Pool.Query(t.Context(), `
			SELECT relname, seq_tup_read FROM pg_stat_user_tables
			UNION ALL
			SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes`)
		found := map[string]int{}
		var name string
		var tuples int
		_, err := pgx.ForEachRow(rows, []any{&name, &tuples}, func() error { found[name] = tuples; return nil })
		require.NoError(t, err)
		return found
	}
	before := read()

	emitEvent(t, s, "evt-last")
	way(t, one, "evt-last")

	for name, tuples := range read() {
		require.Less(t, tuples-before[name], few, name)
	}
}

// way is the way of an event with three deliveries, of which two are sent in a batch.
func way(t *testing.T, s *postgres.Store, eventID string) {
	t.Helper()
	ctx := t.Context()
	_, err := s.EventSetup(ctx, eventID)
	require.NoError(t, err)
	page := []notification.DecidedRecipient{toCustomer(eventID, "1"), toCustomer(eventID, "2"), toCustomer(eventID, "3")}
	require.NoError(t, s.SavePlan(ctx, notification.Event{ID: eventID, Type: "T"}, page))
	stored, err := s.Undelivered(ctx, eventID, 500)
	require.NoError(t, err)
	require.Len(t, stored, 3)
	next, err := s.NextDeliveries(ctx, eventID, mails, 0, "", 500)
	require.NoError(t, err)
	ids := next.IDRange
	part := notification.Part{EventID: eventID, Lane: mails, IDs: ids}
	_, _, err = s.LaneDeliveries(ctx, part, "", 250)
	require.NoError(t, err)
	alone := stored[0].DeliveryID
	endAs(t, s, sentAt(beginAs(t, s, notification.Begin{DeliveryIDs: []string{alone}})[0].Number, alone)[0])
	batch, err := s.BatchDeliveries(ctx, eventID, stored[0].Channel, ids)
	require.NoError(t, err)
	require.Len(t, batch, 2)
	beginBatch(t, s, batch)
	endGroup(t, s, sentAt(1, batch...))
	_, err = s.BatchLeft(ctx, eventID, notification.Email, ids)
	require.NoError(t, err)
	_, _, err = s.ClaimFailed(ctx, part, 1000, 250)
	require.NoError(t, err)
	_, _, err = s.CancelPart(ctx, part, notification.CancelledInTemporal, 1000)
	require.NoError(t, err)
	_, err = s.FinishEvent(ctx, notification.EventEnd{EventID: eventID, Success: true})
	require.NoError(t, err)
}
