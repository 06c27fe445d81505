package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// installIn migrates a separate schema for Herald in the application's database.
func (a *application) installIn(t *testing.T, parameters string) *postgres.Store {
	t.Helper()
	s := a.open(t, parameters)
	_, err := newMigrator(t, s).Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Ready(t.Context()))
	return s
}

// Two Heralds live in separate schemas of an application's database, and neither touches
// the others' objects.
func TestSchemaOfItsOwn(t *testing.T) {
	t.Parallel()

	a := newApplication(t)
	exec(t, a.Store, "CREATE TABLE notification (id uuid); CREATE TABLE event_outbox (id uuid); CREATE TABLE operator_action (id uuid); CREATE TABLE recipient (id uuid)")
	before := schema(t, a.Store)
	first := a.installIn(t, "&search_path=notices")
	second := a.installIn(t, "&options=-c%20search_path%3D%22Second%22%2Cpublic")
	require.Equal(t, schema(t, first), schema(t, second))
	require.Equal(t, before, schema(t, a.Store), "nothing was made in the application's schema")

	producer := openTx(t, a.Store, `
		INSERT INTO notices.event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'CUSTOMER', 1, '{}')`)
	_, err := producer.Exec(t.Context(), `
		INSERT INTO "Second".event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-2', 'T', 'CUSTOMER', 1, '{}')`)
	require.NoError(t, err)
	wakes := listen(t, first)
	awaitWake(t, wakes) // for rows from before it listened
	require.NoError(t, producer.Commit(t.Context()))
	awaitWake(t, wakes) // the trigger ignores the producer's search_path

	require.Equal(t, []string{"evt-1"}, claim(t, first, "poller-1", 10))
	require.Equal(t, []string{"evt-2"}, claim(t, second, "poller-2", 10))
	end(t, first, "poller-1", notification.ClaimStarted, "evt-1")
	require.Equal(t, "PROCESSING", processed(t, first, "evt-1"))
	require.Zero(t, get[int](t, second, "SELECT count(*) FROM processed_event"))

	_, err = newMigrator(t, first).Down(t.Context())
	require.NoError(t, err)
	requireAllApplied(t, newMigrator(t, second))
}
