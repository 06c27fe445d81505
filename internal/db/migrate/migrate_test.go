package migrate_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
)

// schema lists what migrations create in a store's schema: relations, constraints,
// functions and triggers.
func schema(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, `
		SELECT 'relation ' || relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))
		       AND relname !~ '^herald_migrations'
		UNION ALL
		SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = to_regnamespace(quote_ident(current_schema()))
		       AND conname !~ '^herald_migrations'
		UNION ALL
		SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident(current_schema()))
		UNION ALL
		SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE NOT tgisinternal
		       AND relnamespace = to_regnamespace(quote_ident(current_schema()))
		ORDER BY 1`)
}

func TestMigrateDownAndUpAgain(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	migrator := postgrestest.Migrator(t, s)
	full, served := schema(t, s), postgrestest.Get[int](t, s, "SELECT count(*) FROM channel_user_type")
	require.Contains(t, full, "relation event_outbox")

	var taken []string
	for {
		name, err := migrator.Down(t.Context())
		require.NoError(t, err)
		if name == "" {
			break
		}
		taken = append([]string{name}, taken...)
	}
	require.Empty(t, schema(t, s), "a migration does not revert everything that it made")
	require.Error(t, s.Ready(t.Context()))

	applied := postgrestest.Up(t, migrator)
	require.Equal(t, taken, applied)
	require.Equal(t, full, schema(t, s))
	require.NoError(t, s.Ready(t.Context()))
	require.Equal(t, served, postgrestest.Get[int](t, s, "SELECT count(*) FROM channel_user_type"))
}

// Several workers that start at once may all migrate.
func TestMigrateUpSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	migrator := postgrestest.Migrator(t, s)
	down, err := migrator.Down(t.Context())
	require.NoError(t, err)
	statuses, err := migrator.Status(t.Context())
	require.NoError(t, err)
	for i, status := range statuses {
		require.Equal(t, i < len(statuses)-1, status.Applied, status.Name)
	}
	require.Equal(t, down, statuses[len(statuses)-1].Name)

	applied := make([][]string, 3)
	var group errgroup.Group
	for i := range applied {
		migrator := postgrestest.Migrator(t, s)
		group.Go(func() (err error) {
			applied[i], err = migrator.Up(t.Context())
			return err
		})
	}
	require.NoError(t, group.Wait())

	require.Len(t, slices.Concat(applied...), 1, "the missing migration was applied once")
	require.NoError(t, s.Ready(t.Context()))
}
