package migrate_test

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/db/postgrestest"
	"herald/migrations"
)

// A time limit for statements never ends a migration, wherever the limit is set.
func TestMigrationsHaveNoTimeout(t *testing.T) {
	t.Parallel()

	address := postgrestest.URL(t) + "&options=" + "-c%20statement_timeout%3D1ms"
	s, err := db.Open(t.Context(), address, "test")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	postgrestest.Exec(t, s, fmt.Sprintf("ALTER DATABASE %s SET statement_timeout = '1ms'",
		pgx.Identifier{postgrestest.Get[string](t, s, "SELECT current_database()")}.Sanitize()))
	const limits = `INSERT INTO limits SELECT '%s', current_setting('statement_timeout'),
		current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout');`
	postgrestest.Exec(t, s, "CREATE TABLE limits (migration text, statement text, idle text, lock text)")
	m, err := migrate.New(t.Context(), s.Pool, fstest.MapFS{
		"9001_one.sql": {Data: []byte("-- +goose Up\nSELECT pg_sleep(0.1);\n" + fmt.Sprintf(limits, "one"))},
		"9002_two.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nSELECT pg_sleep(0.1);\n" + fmt.Sprintf(limits, "two"))},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()

	applied := postgrestest.Up(t, m)
	require.Equal(t, []string{"9001_one.sql", "9002_two.sql"}, applied)
	require.Equal(t, "one 0 0 500ms, two 0 0 0", postgrestest.Get[string](t, s,
		"SELECT string_agg(concat_ws(' ', migration, statement, idle, lock), ', ' ORDER BY migration) FROM limits"))
}

// producers write events, each in a separate transaction, until they are stopped.
type producers struct {
	count  atomic.Int64
	failed atomic.Pointer[error]
}

func produce(t *testing.T, s *db.DB) *producers {
	t.Helper()
	p := &producers{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			_, err := s.Pool.Exec(ctx, "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id) "+
				"VALUES ($1, 'T', 'ADMIN', '0', '{}', 'c')", fmt.Sprint("made-", i))
			if err != nil && ctx.Err() == nil {
				p.failed.Store(&err)
				return
			}
			p.count.Add(1)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return p
}

// awaitMore waits until the producers have written more events.
func (p *producers) awaitMore(t *testing.T) {
	t.Helper()
	enough := p.count.Load() + 20
	require.Eventually(t, func() bool { return p.count.Load() >= enough || p.failed.Load() != nil }, time.Minute, 5*time.Millisecond,
		"producers wait for the migration")
	if err := p.failed.Load(); err != nil {
		require.NoError(t, *err)
	}
}

// later returns a migrator whose files have the given migrations after Herald's.
func later(t *testing.T, s *db.DB, added map[string]string) *migrate.Migrator {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range scripts(t) {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range added {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := migrate.New(t.Context(), s.Pool, files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

const (
	addsColumn = "-- +goose Up\nALTER TABLE event_outbox ADD COLUMN later text;\n"
	addsIndex  = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_later ON event_outbox " +
		"(correlation_id);\n"
)

// While a transaction holds the tables, the migration waits. Producers do not wait long for
// the migration.
func TestMigrateDoesNotBlockProducers(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	m := later(t, s, map[string]string{"9001_column.sql": addsColumn, "9002_index.sql": addsIndex})
	long := postgrestest.OpenTx(t, s, "LOCK TABLE event_outbox, notification IN ROW EXCLUSIVE MODE")
	writers := produce(t, s)
	writers.awaitMore(t)
	migrated := make(chan error, 1)
	go func() {
		_, err := m.Up(t.Context())
		migrated <- err
	}()

	for _, again := range []string{"again in 1s", "again in 2s"} {
		require.Eventually(t, func() bool { return strings.Contains(m.Doing(), again) }, time.Minute, 5*time.Millisecond)
		writers.awaitMore(t)
	}
	old, err := s.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}) // an index built CONCURRENTLY waits for it
	require.NoError(t, err)
	defer func() { _ = old.Rollback(context.Background()) }()
	_, err = old.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.NoError(t, long.Commit(t.Context()))
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s,
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'INDEX "+
				"CONCURRENTLY')")
	}, time.Minute, 5*time.Millisecond)
	writers.awaitMore(t)
	require.NoError(t, old.Commit(t.Context()))

	require.NoError(t, <-migrated)
	writers.awaitMore(t)
	require.True(t, postgrestest.Get[bool](t, s, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'event_outbox_later'::regclass"))
}

// A migration waits until a vacuum of its table has ended, and only then for the table. Producers do
// not wait for either.
func TestMigrateWaitsForAVacuum(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	m := later(t, s, map[string]string{"9001_column.sql": addsColumn})
	vacuum := postgrestest.OpenTx(t, s, "LOCK TABLE event_outbox IN SHARE UPDATE EXCLUSIVE MODE")
	writers := produce(t, s)
	migrated := make(chan error, 1)
	go func() {
		_, err := m.Up(t.Context())
		migrated <- err
	}()
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s,
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'SHARE "+
				"UPDATE EXCLUSIVE')")
	}, time.Minute, 5*time.Millisecond)
	writers.awaitMore(t)
	require.NotContains(t, m.Doing(), "again in")

	require.NoError(t, vacuum.Commit(t.Context()))
	require.NoError(t, <-migrated)
	writers.awaitMore(t)
}

// A failed CREATE INDEX CONCURRENTLY leaves an invalid index, whose name is taken.
func TestMigrateOverAHalfBuiltIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	m := later(t, s, map[string]string{"9002_index.sql": addsIndex})
	postgrestest.Exec(t, s,
		"INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id) VALUES ('evt-1', 'T', 'ADMIN', "+
			"0, '{}', 'both'), ('evt-2', 'T', 'ADMIN', 0, '{}', 'both')")
	_, err := s.Pool.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY event_outbox_later ON event_outbox (correlation_id)")
	require.ErrorContains(t, err, "could not create unique index")
	const valid = "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = 'event_outbox_later'::regclass"
	require.False(t, postgrestest.Get[bool](t, s, valid))

	postgrestest.Up(t, m)
	require.True(t, postgrestest.Get[bool](t, s, valid))
}

// A schema that a build before 1.0 made is refused with one error, before anything changes.
func TestMigrateRefusesASchemaFromBefore(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, "ALTER TABLE delivery_attempt ADD COLUMN batch int")
	postgrestest.Exec(t, s, "INSERT INTO herald_migrations (version_id, is_applied) SELECT v, true FROM generate_series(10, 111) v")
	m, before := postgrestest.Migrator(t, s), schema(t, s)
	_, up := m.Up(t.Context())
	_, down := m.Down(t.Context())
	_, status := m.Status(t.Context())
	for _, err := range []error{up, down, status, migrate.Usable(t.Context(), s, migrations.FS)} {
		var refused *migrate.SchemaError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Problem, "was made before Herald 1.0")
		require.Contains(t, refused.Remedy, "create a new database")
	}
	require.Equal(t, before, schema(t, s))
}

var comment = regexp.MustCompile(`--.*`)

// scripts returns the texts of all migrations by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		require.NoError(t, err)
		texts[name] = string(text)
	}
	return texts
}

// A migration without a transaction waits for its locks without limit. So it may only take
// locks that block nobody else.
func TestMigrationsWithoutTransactionLockNobodyOut(t *testing.T) {
	t.Parallel()

	harmless := regexp.MustCompile(`^(CREATE (UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS|DROP INDEX CONCURRENTLY IF EXISTS|ALTER TABLE \w+ VALIDATE CONSTRAINT|INSERT|UPDATE|DELETE|SELECT)\b`)
	for name, text := range scripts(t) {
		if !strings.Contains(text, "-- +goose NO TRANSACTION") {
			continue
		}
		for statement := range strings.SplitSeq(comment.ReplaceAllString(text, ""), ";") {
			if statement = strings.TrimSpace(statement); statement != "" {
				require.Regexp(t, harmless, statement, name)
			}
		}
	}
}

// A migration in a transaction starts again if others hold its tables. A migration that reads whole
// tables would read them again, so it takes no other locks.
func TestMigrationsThatReadTablesOnlyRead(t *testing.T) {
	t.Parallel()

	for name, text := range scripts(t) {
		up, _, _ := strings.Cut(text, "-- +goose Down")
		up = comment.ReplaceAllString(up, "")
		reads := regexp.MustCompile(`(?m)^FROM +(event_outbox|processed_event)\b`)
		if strings.Contains(up, "VALIDATE CONSTRAINT") || reads.MatchString(up) {
			require.NotRegexp(t, `(?i)\b(ADD|DROP) (CONSTRAINT|COLUMN)\b`, up, name)
		}
	}
}
