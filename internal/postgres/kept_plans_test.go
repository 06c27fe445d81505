package postgres_test

import (
	"fmt"
	"testing"

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

// way is the way of an event with three deliveries, of which two are sent in a batch.
func way(t *testing.T, s *postgres.Store, eventID string) {
	t.Helper()
	ctx := t.Context()
	_, err := s.EventSetup(ctx, eventID)
	require.NoError(t, err)
	page := []notification.DecidedRecipient{toCustomer(eventID, "1"), toCustomer(eventID, "2"), toCustomer(eventID, "3")}
	require.NoError(t, s.SavePlan(ctx, notification.Event{ID: eventID, Type: "T"}, page))
	_, ids, err := s.DeliveriesTo(ctx, eventID, page)
	require.NoError(t, err)
	stored, err := s.Undelivered(ctx, eventID, 500)
	require.NoError(t, err)
	require.Len(t, stored, 3)
	_, err = s.NextDeliveries(ctx, eventID, mails, 0, "", 500)
	require.NoError(t, err)
	_, err = s.LaneDeliveries(ctx, eventID, mails, ids, "")
	require.NoError(t, err)
	_, err = s.LaneExceeds(ctx, eventID, mails, 1000)
	require.NoError(t, err)
	alone := stored[0].DeliveryID
	endAs(t, s, sentAt(begin(t, s, alone, 0).Number, alone)[0])
	batch, err := s.BatchDeliveries(ctx, eventID, stored[0].Channel, ids)
	require.NoError(t, err)
	require.Len(t, batch, 2)
	beginBatch(t, s, batch)
	endGroup(t, s, sentAt(1, batch...))
}
