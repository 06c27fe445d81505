package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// A claim reads as many rows as it takes, however many wait behind them, and also where its
// connection made the first claims when there were few.
func TestClaimEventsReadsWhatItTakes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	listening, asked := heard(t, s)
	for i := range 7 { // after five, a connection keeps the plan of a prepared statement
		emitEvent(t, s, fmt.Sprint("first-", i))
		claim(t, listening, "a", 1)
	}
	emitMany(t, s, 20_000)

	claim(t, listening, "b", 100)

	last := asked.heard[len(asked.heard)-1]
	require.Equal(t, pgx.QueryExecModeExec, last.Args[0], "it is planned for what waits now")
	require.Less(t, blocks(t, s, last), 2500)
}

// While a session holds an old snapshot, most claims do not read again what was processed since.
func TestClaimEventsBesideAnOldSnapshot(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	old, err := s.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = old.Rollback(t.Context()) }()
	_, err = old.Exec(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0") // for as long as the test takes
	require.NoError(t, err)
	_, err = old.Exec(t.Context(), "SELECT FROM event_outbox")
	require.NoError(t, err)
	listening, asked := heard(t, s)
	for range 5 {
		emitMany(t, s, 1000)
		end(t, s, "a", notification.ClaimStarted, claim(t, listening, "a", 1000)...)
	}
	exec(t, s, "ANALYZE event_outbox") // the planner believes that nothing is pending
	cost := func(claims *postgres.Store, asked *statements) int {
		claim(t, claims, "a", 100)
		return blocks(t, s, asked.heard[len(asked.heard)-1])
	}

	require.Greater(t, cost(heard(t, s)), 4000, "the first claim of a process looks at all rows")
	require.Eventually(t, func() bool {
		claim(t, listening, "a", 100) // as one does every second
		return cost(listening, asked) < 100
	}, time.Minute, 50*time.Millisecond, "the floor follows the claims")
}

// emitMany writes n events in one statement.
func emitMany(t *testing.T, s *postgres.Store, n int) {
	t.Helper()
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT gen_random_uuid(), 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{"restaurantId": 5}'
		FROM   generate_series(1, $1::int)`, n)
}

// blocks is how many blocks the database touches for a statement, which does its work once more.
func blocks(t *testing.T, s *postgres.Store, statement pgx.TraceQueryStartData) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, s.Pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
