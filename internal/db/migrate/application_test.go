package migrate_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/db/postgrestest"
)

// application is a database that an application migrates with its own goose, which is at
// version 25 and continues with timestamps.
type application struct {
	*db.DB
	url   string
	files fstest.MapFS
}

func newApplication(t *testing.T) *application {
	t.Helper()
	a := &application{url: postgrestest.URL(t), files: fstest.MapFS{}}
	a.DB = a.open(t, "")
	postgrestest.Exec(t, a.DB, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	for version := 1; version <= 25; version++ {
		a.add(fmt.Sprintf("%05d_step.sql", version), "SELECT 1;")
	}
	a.add("20240101120000_orders.sql", "CREATE TABLE orders (id bigint PRIMARY KEY);")
	a.migrate(t)
	return a
}

func (a *application) add(name, statements string) {
	a.files[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + statements + "\n")}
}

func (a *application) migrate(t *testing.T) {
	t.Helper()
	_, err := oldGoose(t, a.DB, a.files).Up(t.Context())
	require.NoError(t, err)
}

// open opens the database with more parameters in its URL.
func (a *application) open(t *testing.T, parameters string) *db.DB {
	t.Helper()
	s, err := db.Open(t.Context(), a.url+parameters, "test")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// oldGoose writes into goose_db_version, as applications do.
func oldGoose(t *testing.T, s *db.DB, files fs.FS) *goose.Provider {
	t.Helper()
	provider, err := goose.NewProvider(goose.DialectPostgres, stdlib.OpenDBFromPool(s.Pool), files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	return provider
}

// versions lists the versions in a table of goose with their times.
func versions(t *testing.T, s *db.DB, table string) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT version_id || ' ' || is_applied || ' ' || tstamp FROM "+table+" WHERE version_id > 0 ORDER BY id")
}

// everything lists all objects of a database.
func everything(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, `
		SELECT oid::regclass::text FROM pg_class WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
		       AND relkind <> 't'
		UNION ALL
		SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'
		ORDER BY 1`)
}

func requireAllApplied(t *testing.T, m *migrate.Migrator) {
	t.Helper()
	statuses, err := m.Status(t.Context())
	require.NoError(t, err)
	for _, status := range statuses {
		require.True(t, status.Applied, status.Name)
	}
}

// Herald and the application keep their migrations apart, and neither waits for the other.
func TestMigrateDoesNotTouchAnApplication(t *testing.T) {
	t.Parallel()

	a := newApplication(t)
	before := versions(t, a.DB, "goose_db_version")
	postgrestest.OpenTx(t, a.DB, "SELECT pg_advisory_xact_lock($1)", lock.DefaultLockID) // a long migration of the application
	m := postgrestest.Migrator(t, a.DB)

	applied := postgrestest.Up(t, m)
	statuses, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, applied, len(statuses))
	require.NoError(t, a.Ready(t.Context()))
	require.Equal(t, before, versions(t, a.DB, "goose_db_version"))

	a.add("20260101120000_later.sql", "CREATE TABLE later (id bigint);")
	a.migrate(t)
	require.True(t, postgrestest.Get[bool](t, a.DB, "SELECT to_regclass('later') IS NOT NULL"))
	requireAllApplied(t, m)
}

// The error lists all names that an application uses, before anything is created. Herald
// fits into a separate schema.
func TestMigrateRefusesNamesOfOthers(t *testing.T) {
	t.Parallel()

	a := newApplication(t)
	a.add("20240102000000_names.sql", `
		CREATE TABLE notification (id uuid PRIMARY KEY);
		CREATE TABLE herald_migrations (id bigint);
		CREATE TABLE event_outbox (id uuid PRIMARY KEY, payload jsonb);
		CREATE TYPE channel AS ENUM ('EMAIL');
		CREATE DOMAIN sweep AS text;
		CREATE VIEW recipient AS SELECT 1 AS id;
		CREATE INDEX notification_created_at ON orders (id);
		CREATE SEQUENCE operator_action;
		CREATE FUNCTION notify_event_outbox() RETURNS int LANGUAGE sql AS 'SELECT 1';`)
	a.migrate(t)
	before := everything(t, a.DB)
	m := postgrestest.Migrator(t, a.DB)

	_, err := m.Up(t.Context())

	var refused *migrate.SchemaError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Problem, "table herald_migrations")
	postgrestest.Exec(t, a.DB, "DROP TABLE herald_migrations")
	_, err = m.Up(t.Context())
	require.ErrorAs(t, err, &refused)
	for _, name := range []string{
		"table notification", "table event_outbox", "type channel", "type sweep", "view recipient", "index notification_created_at",
		"sequence operator_action", "function notify_event_outbox",
	} {
		require.Contains(t, refused.Problem, name)
	}
	require.NotContains(t, refused.Problem, "processed_event")
	require.Contains(t, refused.Remedy, "search_path=herald")
	postgrestest.Exec(t, a.DB, "CREATE TABLE herald_migrations (id bigint)")
	require.Equal(t, before, everything(t, a.DB))

	own := postgrestest.Migrator(t, a.open(t, "&search_path=herald"))
	postgrestest.Up(t, own)
	require.Equal(t, []string{"created schema herald"}, own.Prepared())
	requireAllApplied(t, own)
}

// If a role lacks a right, the error says what to ask for.
func TestMigrateNamesMissingRights(t *testing.T) {
	t.Parallel()

	a := newApplication(t)
	role := pgx.Identifier{"Limited " + postgrestest.Get[string](t, a.DB, "SELECT current_database()::text")}.Sanitize()
	postgrestest.Exec(t, a.DB, "CREATE ROLE "+role+" LOGIN PASSWORD 'local'; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	t.Cleanup(func() {
		_, err := a.Pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	limited, err := url.Parse(a.url)
	require.NoError(t, err)
	limited.User = url.UserPassword("Limited "+postgrestest.Get[string](t, a.DB, "SELECT current_database()::text"), "local")
	owner := a.DB
	a = &application{DB: owner, url: limited.String()}

	for parameters, remedy := range map[string]string{
		"":                        "GRANT USAGE, CREATE ON SCHEMA \"public\" TO " + role,
		"&search_path=My-Herald":  `CREATE SCHEMA "my-herald" AUTHORIZATION ` + role,
		"&search_path=%22No%22,x": `CREATE SCHEMA "No" AUTHORIZATION ` + role,
	} {
		s := a.open(t, parameters)
		_, err := postgrestest.Migrator(t, s).Up(t.Context())
		var refused *migrate.SchemaError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Remedy, remedy)

		postgrestest.Exec(t, owner, refused.Remedy[len(refused.Remedy)-len(remedy):])
		postgrestest.Up(t, postgrestest.Migrator(t, s))
	}
}
