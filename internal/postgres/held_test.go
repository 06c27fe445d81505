package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

// An event that is open or failed holds its row. An unknown event does not.
func TestHeldEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, e := range []struct{ id, written, started string }{
		{id: "done", written: "PROCESSED", started: "SUCCESS"},
		{id: "not-told", written: "PROCESSED", started: "FAILED"},
		{id: "running", written: "PROCESSED", started: "PROCESSING"},
		{id: "running-purged", started: "PROCESSING"},
		{id: "waiting", written: "PENDING"},
		{id: "failed", written: "FAILED"},
		{id: "of-another", written: "PROCESSED"},
	} {
		rest(t, s, e.id, e.written, e.started)
	}
	exec(t, s, "UPDATE event_outbox SET source = 'orders' WHERE event_id <> 'of-another'")

	held, err := s.HeldEvents(t.Context(), "orders", []string{"done", "not-told", "running", "running-purged", "waiting", "failed", "of-another", "unknown"})

	require.NoError(t, err)
	require.ElementsMatch(t, []string{"running", "running-purged", "waiting", "failed"}, held)
}
