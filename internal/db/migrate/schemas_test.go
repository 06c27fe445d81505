package migrate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
)

// installIn migrates a separate schema for Herald in the application's database.
func (a *application) installIn(t *testing.T, parameters string) *db.DB {
	t.Helper()
	s := a.open(t, parameters)
	postgrestest.Up(t, postgrestest.Migrator(t, s))
	require.NoError(t, s.Ready(t.Context()))
	return s
}

// Two installations of Herald use separate schemas of an application's database, and change nothing
// in other schemas.
func TestSeparateSchemas(t *testing.T) {
	t.Parallel()

	a := newApplication(t)
	postgrestest.Exec(t, a.DB,
		"CREATE TABLE notification (id uuid); CREATE TABLE event_outbox (id uuid); CREATE TABLE operator_action (id uuid); CREATE TABLE "+
			"recipient (id uuid)")
	before := schema(t, a.DB)
	first := a.installIn(t, "&search_path=notices")
	second := a.installIn(t, "&options=-c%20search_path%3D%22Second%22%2Cpublic")
	require.Equal(t, schema(t, first), schema(t, second))
	require.Equal(t, before, schema(t, a.DB), "nothing was made in the application's schema")

	producer := postgrestest.OpenTx(t, a.DB, `
		INSERT INTO notices.event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		       VALUES ('evt-1', 'T', 'CUSTOMER', 1, '{}')`)
	_, err := producer.Exec(t.Context(), `
		INSERT INTO "Second".event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		       VALUES ('evt-2', 'T', 'CUSTOMER', 1, '{}')`)
	require.NoError(t, err)
	wakes := make(chan struct{}, 100)
	go event.On(first).ListenEvents(t.Context(), func() { wakes <- struct{}{} })
	<-wakes // for rows from before it listened
	require.NoError(t, producer.Commit(t.Context()))
	<-wakes // the trigger ignores the producer's search_path

	for s, id := range map[*db.DB]string{first: "evt-1", second: "evt-2"} {
		claimed, err := event.On(s).ClaimEvents(t.Context(), "poller", 10, time.Hour)
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		require.Equal(t, id, claimed[0].ID)
	}
	require.NoError(t,
		event.On(first).EndClaim(t.Context(), "poller", []notification.ClaimResult{{EventID: "evt-1", Outcome: notification.ClaimStarted}}))
	require.Equal(t, 1, postgrestest.Get[int](t, first, "SELECT count(*) FROM processed_event"))
	require.Zero(t, postgrestest.Get[int](t, second, "SELECT count(*) FROM processed_event"))

	_, err = postgrestest.Migrator(t, first).Down(t.Context())
	require.NoError(t, err)
	requireAllApplied(t, postgrestest.Migrator(t, second))
}
