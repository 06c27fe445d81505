package postgrestest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/migrations"
)

// Exec runs a statement as a business service, an operator or a fault would.
func Exec(t testing.TB, s *db.DB, sql string, args ...any) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// Get reads one value.
func Get[T any](t testing.TB, s *db.DB, sql string, args ...any) (value T) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), sql, args...).Scan(&value))
	return value
}

// List reads a column of texts.
func List(t testing.TB, s *db.DB, sql string, args ...any) []string {
	t.Helper()
	rows, _ := s.Pool.Query(t.Context(), sql, args...) // CollectRows returns its error
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return values
}

// OpenTx runs a statement in a transaction. The end of the test rolls it back.
func OpenTx(t testing.TB, s *db.DB, sql string, args ...any) pgx.Tx {
	t.Helper()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
	return tx
}

// Migrator returns a migrator with Herald's migrations.
func Migrator(t testing.TB, s *db.DB) *migrate.Migrator {
	t.Helper()
	migrator, err := migrate.New(t.Context(), s.Pool, migrations.FS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, migrator.Close()) })
	return migrator
}

// Up applies the missing migrations, and returns their names.
func Up(t testing.TB, m *migrate.Migrator) []string {
	t.Helper()
	names, err := m.Up(t.Context())
	require.NoError(t, err)
	return names
}

// DownTo reverts migrations until the newest one has the name.
func DownTo(t testing.TB, m *migrate.Migrator, newest string) {
	t.Helper()
	for {
		statuses, err := m.Status(t.Context())
		require.NoError(t, err)
		applied := slices.DeleteFunc(statuses, func(s migrate.Status) bool { return !s.Applied })
		require.NotEmpty(t, applied, "there is no migration %s", newest)
		if strings.HasPrefix(applied[len(applied)-1].Name, newest) {
			return
		}
		_, err = m.Down(t.Context())
		require.NoError(t, err)
	}
}
