package migrate_test

import (
	"testing"
	"time"

	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
	"herald/internal/postgres/migrate"
	"herald/internal/postgres/postgrestest"
	"herald/migrations"
)

// installOld applies Herald's first migrations as its older releases did.
func installOld(t *testing.T, s *postgres.Store, from, to int64) {
	t.Helper()
	provider := oldGoose(t, s, migrations.FS)
	for version := from; version <= to; version++ {
		_, err := provider.ApplyVersion(t.Context(), version, true)
		require.NoError(t, err)
	}
}

func TestMigrateTakesOverFormerVersions(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name   string
		upTo   int64
		theirs string // rows that an application's goose wrote into the same table
	}{
		{name: "all", upTo: 18},
		{name: "half of the migrations", upTo: 9},
		{name: "a table shared with timestamps", upTo: 18, theirs: "INSERT INTO goose_db_version (version_id, is_applied) VALUES (20240101120000, true), (20240301080000, true)"},
		{name: "a table shared with higher numbers", upTo: 18, theirs: "INSERT INTO goose_db_version (version_id, is_applied) SELECT v, true FROM generate_series(101, 120) v"},
		{name: "migrations reverted and applied again", upTo: 18, theirs: "INSERT INTO goose_db_version (version_id, is_applied) VALUES (18, false), (18, true)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := postgrestest.New(t)
			postgrestest.Exec(t, s, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
			installOld(t, s, 1, c.upTo)
			postgrestest.Exec(t, s, c.theirs)
			before, all := versions(t, s, "goose_db_version"), everything(t, s)
			m := postgrestest.Migrator(t, s)
			statuses, err := m.Status(t.Context())
			require.NoError(t, err)
			require.True(t, statuses[c.upTo-1].Applied)
			require.Equal(t, all, everything(t, s), "Status changes nothing")

			applied := postgrestest.Up(t, m)
			require.Len(t, applied, len(statuses)-int(c.upTo))
			require.Contains(t, m.Prepared()[0], "took over")
			require.Equal(t, before, versions(t, s, "goose_db_version"), "an older release may still read it")
			requireAllApplied(t, m)

			postgrestest.Exec(t, s, "DROP TABLE goose_db_version")
			requireAllApplied(t, m)
		})
	}
}

// While an older release migrates, its record is not copied half-way.
func TestTakeOverWaitsForAnOlderRelease(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	installOld(t, s, 1, 17)
	older := postgrestest.OpenTx(t, s, "SELECT pg_advisory_xact_lock($1)", lock.DefaultLockID)
	m := postgrestest.Migrator(t, s)
	applied := make(chan []string, 1)
	go func() {
		names, _ := m.Up(t.Context())
		applied <- names
	}()
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'pg_try_advisory_lock' AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory'))")
	}, time.Minute, 5*time.Millisecond)
	installOld(t, s, 18, 18)
	require.NoError(t, older.Commit(t.Context()))

	require.NotContains(t, <-applied, "0018_notification_channel.sql")
	requireAllApplied(t, m)
}

// Herald does not guess whose versions a mixed table holds. The error's remedy works.
func TestMigrateRefusesMixedVersions(t *testing.T) {
	t.Parallel()

	mixtures := map[string]string{
		"a version is missing": "DELETE FROM goose_db_version WHERE version_id = 7",
		"no version of Herald": "DELETE FROM goose_db_version WHERE version_id > 0",
		"a table is missing":   "ALTER TABLE delivery_retry RENAME TO mislaid",
	}
	for name, mix := range mixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := postgrestest.New(t)
			postgrestest.Exec(t, s, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
			installOld(t, s, 1, 18)
			postgrestest.Exec(t, s, mix)
			before := everything(t, s)
			m := postgrestest.Migrator(t, s)

			_, err := m.Up(t.Context())

			var refused *migrate.SchemaError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Problem, "goose_db_version")
			require.Contains(t, refused.Remedy, "CREATE TABLE herald_migrations (LIKE goose_db_version INCLUDING ALL)")
			require.Equal(t, before, everything(t, s))

			postgrestest.Exec(t, s, "ALTER TABLE IF EXISTS mislaid RENAME TO delivery_retry")
			postgrestest.Exec(t, s, "CREATE TABLE herald_migrations (LIKE goose_db_version INCLUDING ALL)")
			postgrestest.Exec(t, s, "INSERT INTO herald_migrations (version_id, is_applied) SELECT v, true FROM generate_series(0, 18) v")
			postgrestest.Up(t, m)
			requireAllApplied(t, m)
		})
	}
}
