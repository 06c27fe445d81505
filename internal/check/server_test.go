package check_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/migrations"
)

// A database, or the role of a producer, that does not wait for the disk can lose events.
func TestLossyCommits(t *testing.T) {
	t.Parallel()

	address := postgrestest.URL(t)
	db := must(db.Open(t.Context(), address, "test"))(t)
	t.Cleanup(db.Close)
	require.Empty(t, schemaMistakes(t, address))

	producer := "herald_test_" + strings.ToLower(rand.Text())
	postgrestest.Exec(t, db, "CREATE ROLE "+producer)
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), "DROP OWNED BY "+producer+"; DROP ROLE "+producer)
		require.NoError(t, err)
	})
	postgrestest.Exec(t, db, "ALTER ROLE "+producer+" SET synchronous_commit = off")
	require.Empty(t, schemaMistakes(t, address), "the role may write nothing")
	postgrestest.Exec(t, db, "GRANT INSERT (event_id) ON event_outbox TO "+producer)
	postgrestest.Exec(t, db, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`)

	found := schemaMistakes(t, address)
	require.Len(t, found, 2)
	require.Equal(t, "setting synchronous_commit", found[0].Where())
	require.Contains(t, found[0].Remedy, "its value comes from: database")
	require.Equal(t, "setting synchronous_commit of role "+producer, found[1].Where())
	require.Contains(t, found[1].Remedy, "ALTER ROLE "+producer+" RESET synchronous_commit")

	found = schemaMistakes(t, address+"&synchronous_commit=off")
	require.Contains(t, found[0].Remedy, "its value comes from: client")
	require.Len(t, schemaMistakes(t, address+"&synchronous_commit=on"), 1)
}

// schemaMistakes checks the schema over new connections.
func schemaMistakes(t *testing.T, address string) []check.Mistake {
	t.Helper()
	db := must(db.Open(t.Context(), address, "test"))(t)
	defer db.Close()
	schema, _ := check.Schema(t.Context(), db, migrations.FS)
	return check.Run(t.Context(), []check.Subject{schema}).Mistakes
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}

// A worker creates what is missing, but never changes an existing queue or exchange. Queues of added
// user types may be missing.
func TestBrokerMistakes(t *testing.T) {
	t.Parallel()

	db, vhost := postgrestest.New(t), rabbitmqtest.Shared(t).VHost(t)
	postgrestest.Exec(t, db, "INSERT INTO user_type (user_type, who, audience) VALUES ('COURIER', 'courier', 'courier')")
	for _, q := range []struct {
		name    string
		durable bool
	}{{"notification.admin", false}, {"notification.courier", false}, {"notification.customer", true}} {
		must(vhost.Dial(t).QueueDeclare(q.name, q.durable, false, false, false, nil))(t)
	}
	require.NoError(t, vhost.Dial(t).ExchangeDeclare("notifications.exchange", "fanout", true, false, false, false, nil))

	found := check.Run(t.Context(), []check.Subject{check.Broker(db, vhost.URL)}).Mistakes
	differ := map[string]string{}
	missing := 0
	for _, mistake := range found {
		if mistake.Problem == "it is missing" {
			missing++
			continue
		}
		differ[mistake.Row] = mistake.Problem
		require.Contains(t, mistake.Remedy, "delete it")
	}
	require.Len(t, differ, 3, "%v", differ)
	require.Contains(t, differ["queue notification.admin"], "inequivalent arg 'durable'")
	require.Contains(t, differ["queue notification.courier"], "inequivalent arg 'durable'")
	require.Contains(t, differ["exchange notifications.exchange"], "inequivalent arg 'type'")
	require.NotZero(t, missing)
}
