// Package migrate applies Herald's migrations, and compares a schema with them.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"herald/internal/db"
)

// Migrator applies migrations while producers and workers run. Several migrators may run at
// once: a session lock lets one work, and the others wait.
type Migrator struct {
	files   fs.FS
	pool    *pgxpool.Pool
	schema  string  // Herald's; the connections of db see no other schema
	db      *sql.DB // its statements wait for locks without limit
	locker  lock.SessionLocker
	polite  *goose.Provider // its statements wait for a lock until lockTimeout
	patient *goose.Provider // its statements wait for locks without limit

	mu       sync.Mutex
	doing    string
	since    time.Time
	prepared []string
}

const (
	// lockTimeout is the longest time that a migration waits for a table. Everybody who
	// needs that table later waits behind the migration, also producers. So the migration then
	// gives up its place and tries again.
	lockTimeout = 500 * time.Millisecond
	// longestPause is the longest time between two tries.
	longestPause = 5 * time.Second
	// migrationLock is not goose's own lock, so that an application's migrations in the
	// same database do not delay Herald's.
	migrationLock = 0x4845_5241_4c44_4d47 // "HERALDMG"
)

// New returns a migrator with the migrations in files, for the first schema in the pool's
// search_path. It changes nothing.
func New(ctx context.Context, pool *pgxpool.Pool, files fs.FS) (*Migrator, error) {
	schema, err := findSchema(ctx, pool)
	if err != nil {
		return nil, err
	}
	m := &Migrator{pool: pool, files: files, schema: schema, db: openUnlimited(pool, schema, "0")}
	forEver := lock.WithLockTimeout(1, math.MaxUint32) // tries every second, until the caller's context ends
	if m.locker, err = lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), forEver); err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	if m.polite, err = newProvider(openUnlimited(pool, schema, fmt.Sprint(lockTimeout.Milliseconds())), files); err != nil {
		return nil, err
	}
	m.patient, err = newProvider(m.db, files)
	return m, err
}

func newProvider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(VersionTable))
}

// openUnlimited opens separate connections for migrations, since a change of a table with millions
// of rows takes longer than a worker's statement may. The connections see one schema, so that no name
// can mean a table of the application. lockTimeout is in milliseconds; 0: none.
func openUnlimited(pool *pgxpool.Pool, schema, lockTimeout string) *sql.DB {
	config := pool.Config().ConnConfig
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	config.RuntimeParams["idle_session_timeout"] = "0" // for the connection that holds the session lock
	config.RuntimeParams["lock_timeout"] = lockTimeout
	return stdlib.OpenDB(*config)
}

// Close frees the migrator. The pool stays open.
func (m *Migrator) Close() error { return errors.Join(m.polite.Close(), m.patient.Close()) }

// Up applies every missing migration, and returns their names. Only ctx limits its time. If
// it must not begin, the error is a [SchemaError], and nothing has changed.
func (m *Migrator) Up(ctx context.Context) ([]string, error) {
	names := []string{}
	err := m.alone(ctx, func() error {
		record, err := m.begin(ctx, true)
		if err != nil {
			return err
		}
		for _, source := range m.polite.ListSources() {
			if record.applied[source.Version] {
				continue
			}
			if err := m.step(ctx, source, true); err != nil {
				return err
			}
			names = append(names, source.Path)
		}
		return nil
	})
	return names, db.Wrap(err, "migrate up")
}

// Down reverts the newest migration, deletes the data in its tables, and returns its name,
// or "" if there is none.
func (m *Migrator) Down(ctx context.Context) (name string, err error) {
	err = m.alone(ctx, func() error {
		record, err := m.begin(ctx, false)
		if err != nil {
			return err
		}
		for _, source := range slices.Backward(m.polite.ListSources()) {
			if record.applied[source.Version] {
				name = source.Path
				return m.step(ctx, source, false)
			}
		}
		return nil
	})
	return name, db.Wrap(err, "migrate down")
}

// alone calls f while it holds the lock.
func (m *Migrator) alone(ctx context.Context, f func() error) (err error) {
	m.say("waiting until no other migration runs")
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := m.locker.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return f()
}

// Status is one migration and whether it is applied.
type Status struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// Status lists all migrations in their order. It changes nothing.
func (m *Migrator) Status(ctx context.Context) ([]Status, error) {
	record, err := m.find(ctx)
	if err != nil {
		return nil, db.Wrap(err, "migration status")
	}
	var statuses []Status
	for _, source := range m.polite.ListSources() {
		statuses = append(statuses, Status{Name: source.Path, Applied: record.applied[source.Version]})
	}
	return statuses, nil
}

// RecordsActions reports whether the schema has a table for operators' actions.
func (m *Migrator) RecordsActions(ctx context.Context) (bool, error) {
	columns, err := m.columns(ctx, "operator_action")
	return len(columns) > 0, err
}
