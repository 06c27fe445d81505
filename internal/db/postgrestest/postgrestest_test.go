package postgrestest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

func TestARunDropsItsDatabases(t *testing.T) {
	const run = "of_its_own"
	t.Setenv(postgrestest.RunVariable, run)
	t.Run("a test of the run", func(t *testing.T) { postgrestest.New(t) })
	t.Setenv(postgrestest.RunVariable, "another")
	other := postgrestest.New(t)

	require.Equal(t, 1, databasesOf(t, run), "the database outlives its test")
	require.NoError(t, postgrestest.DropRun(t.Context(), os.Getenv("DATABASE_URL"), run))
	require.Zero(t, databasesOf(t, run))
	require.NoError(t, other.Ready(t.Context()), "databases of another run stay")
	require.NoError(t, postgrestest.DropRun(t.Context(), os.Getenv("DATABASE_URL"), "another"))
}

func databasesOf(t *testing.T, run string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), os.Getenv("DATABASE_URL"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var n int
	require.NoError(t,
		conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'herald_test_' || $1)", run).Scan(&n))
	return n
}
