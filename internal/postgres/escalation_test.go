package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

// Escalations of one event type may follow one another, but never return to their start.
func TestEscalationsCloseNoCircle(t *testing.T) {
	t.Parallel()

	const row = insertEscalation + `('%T', '%F', '%D', '5 minutes', 'READ')`
	from := func(eventType, from, to string) string {
		return strings.NewReplacer("%T", eventType, "%F", from, "%D", to).Replace(row)
	}
	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `
		INSERT INTO event_type_channel_routing (event_type, channel_type)
		SELECT e, c
		FROM   unnest(ARRAY ['A', 'B']) e, unnest(ARRAY ['PUSH', 'SMS', 'EMAIL', 'SLACK']) c`)
	postgrestest.Exec(t, s, from("A", "PUSH", "SMS"))
	postgrestest.Exec(t, s, from("A", "SMS", "EMAIL"))
	postgrestest.Exec(t, s, from("B", "EMAIL", "PUSH"))

	refused := func(sql string) {
		t.Helper()
		_, err := s.Pool.Exec(t.Context(), sql)
		var problem *pgconn.PgError
		require.ErrorAs(t, err, &problem, sql)
		require.Equal(t, "event_type_escalation_no_circle", problem.ConstraintName)
	}
	refused(from("A", "EMAIL", "PUSH"))
	refused(from("A", "EMAIL", "SMS"))
	refused(from("A", "SLACK", "SLACK"))
	refused(`UPDATE event_type_escalation SET to_channel = 'PUSH' WHERE event_type = 'A' AND from_channel = 'SMS'`)
	postgrestest.Exec(t, s, `UPDATE event_type_escalation SET to_channel = 'SLACK' WHERE event_type = 'A' AND from_channel = 'SMS'`)
	postgrestest.Exec(t, s, from("A", "EMAIL", "PUSH"))

	// If two would close a circle together, the second waits for the first, and is refused.
	first := postgrestest.OpenTx(t, s, from("B", "PUSH", "SMS"))
	second := make(chan error, 1)
	go func() {
		_, err := s.Pool.Exec(t.Context(), from("B", "SMS", "EMAIL"))
		second <- err
	}()
	require.Eventually(t, func() bool {
		return postgrestest.Get[int](t, s, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`) == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, first.Commit(t.Context()))
	require.ErrorContains(t, <-second, "closes a circle")
}
