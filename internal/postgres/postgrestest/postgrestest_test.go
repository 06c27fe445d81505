package postgrestest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

func TestEachDatabaseIsItsOwn(t *testing.T) {
	t.Parallel()

	first, second := postgrestest.New(t), postgrestest.New(t)
	_, err := first.Pool.Exec(t.Context(), "INSERT INTO processed_event (event_id) VALUES ('evt-1')")
	require.NoError(t, err)

	var rows int
	require.NoError(t, second.Pool.QueryRow(t.Context(), "SELECT count(*) FROM processed_event").Scan(&rows))
	require.Zero(t, rows)
	require.NoError(t, second.Ready(t.Context()))
}
