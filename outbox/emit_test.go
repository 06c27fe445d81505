package outbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/outbox"
)

// herald_emit writes every column that a producer may write, and returns the id.
func TestEmitFunction(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	id := postgrestest.Get[string](t, s, `SELECT herald_emit('ORDER_PAID', 'CUSTOMER', '7', '{"n": 1}')`)
	require.Regexp(t, "^evt-[0-9a-f-]{36}$", id)
	require.Equal(t, "ORDER_PAID CUSTOMER 7 {\"n\": 1}", postgrestest.Get[string](t, s,
		"SELECT concat_ws(' ', event_type, aggregate_type, aggregate_id, payload, correlation_id, actor_type, cancels) FROM event_outbox"))

	require.Equal(t, "evt-2", postgrestest.Get[string](t, s, `
		SELECT herald_emit(event_type => 'ORDER_PAID', aggregate_type => 'CUSTOMER', aggregate_id => '7', payload => '{}', event_id => 'evt-2',
		                   correlation_id => 'c-1', cancels => 'evt-1', cancels_types => '{A,B}', expires_at => '2040-01-01 00:00Z',
		                   collapse_key => 'k', traceparent => '00-1', actor_type => 'ADMIN', actor_id => '1', exclude => '{ADMIN/2,ADMIN/3}')`))
	require.Equal(t, "c-1 evt-1 {A,B} 2040 k 00-1 ADMIN 1 {ADMIN/2,ADMIN/3}", postgrestest.Get[string](t, s, `
		SELECT concat_ws(' ', correlation_id, cancels, cancels_types, extract(year FROM expires_at AT TIME ZONE 'UTC'), collapse_key, traceparent,
		                 actor_type, actor_id, exclude)
		FROM   event_outbox
		WHERE  event_id = 'evt-2'`))

	parameters := postgrestest.List(t, s, "SELECT unnest(proargnames) FROM pg_proc WHERE proname = 'herald_emit'")
	require.ElementsMatch(t, outbox.Columns(), parameters)
	_, err := s.Pool.Exec(t.Context(), `SELECT herald_emit('ORDER_PAID', 'CUSTOMER', '7', '{}', event_id => 'evt-2')`)
	require.ErrorContains(t, err, "event_outbox_pkey")
}

// herald_emit needs the rights of a producer, and no search_path: with them it cannot read or cancel events.
func TestEmitFunctionRights(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `CREATE SCHEMA app`)
	schema := postgrestest.Get[string](t, s, "SELECT current_schema()::text")
	role := "emitter_" + postgrestest.Get[string](t, s, "SELECT replace(gen_random_uuid()::text, '-', '')")
	postgrestest.Exec(t, s, "CREATE ROLE "+role)
	t.Cleanup(func() {
		_, err := s.Pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	postgrestest.Exec(t, s, "GRANT USAGE ON SCHEMA "+schema+", app TO "+role)
	emit := func(more string) error {
		return asRole(t, s, role, "SELECT "+schema+".herald_emit('ORDER_PAID', 'CUSTOMER', '7', '{}'"+more+")")
	}

	require.ErrorContains(t, emit(""), "permission denied for table event_outbox")
	postgrestest.Exec(t, s, "GRANT INSERT (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, "+
		"traceparent, actor_type, actor_id, exclude) ON event_outbox TO "+role)
	require.NoError(t, emit(""))
	require.ErrorContains(t, emit(", cancels => 'evt-1'"), "permission denied for table event_outbox")
	postgrestest.Exec(t, s, "GRANT INSERT (cancels, cancels_types) ON event_outbox TO "+role)
	require.NoError(t, emit(", cancels => 'evt-1'"))
	require.Equal(t, int64(2), postgrestest.Get[int64](t, s, "SELECT count(*) FROM event_outbox"))
}

// asRole runs a statement in a transaction of a role whose search_path lacks Herald's schema.
func asRole(t *testing.T, s *db.DB, role, statement string) error {
	t.Helper()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }() // it was committed, or failed
	_, err = tx.Exec(t.Context(), "SET LOCAL search_path = app; SET LOCAL ROLE "+role)
	require.NoError(t, err)
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		return err
	}
	return tx.Commit(t.Context())
}
