package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrator applies migrations while producers and workers run. Several may run at
// once: a session lock lets one work, and the others wait.
type Migrator struct {
	files   fs.FS
	db      *sql.DB
	locker  lock.SessionLocker
	polite  *goose.Provider // its statements wait for a lock until lockTimeout
	patient *goose.Provider // its statements wait for locks without limit

	mu    sync.Mutex
	doing string
	since time.Time
}

// lockTimeout is how long a migration waits for a table. All who need that table
// later wait behind it, producers too, so it then gives way and tries again.
const lockTimeout = 3 * time.Second

// NewMigrator returns a migrator of the store's database with the migrations in files.
func (s *Store) NewMigrator(files fs.FS) (*Migrator, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, math.MaxUint32)) // tries every second, until the caller's context ends
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	m := &Migrator{files: files, locker: locker, db: s.openUnlimited("0")}
	if m.polite, err = goose.NewProvider(goose.DialectPostgres, s.openUnlimited(fmt.Sprint(lockTimeout.Milliseconds())), files); err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	if m.patient, err = goose.NewProvider(goose.DialectPostgres, m.db, files); err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return m, nil
}

// openUnlimited opens connections for migrations alone, since changing a table of
// millions takes longer than a worker's statement may. lockTimeout is in
// milliseconds; 0: none.
func (s *Store) openUnlimited(lockTimeout string) *sql.DB {
	config := s.Pool.Config().ConnConfig
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	config.RuntimeParams["idle_session_timeout"] = "0" // of the connection that holds the session lock
	config.RuntimeParams["lock_timeout"] = lockTimeout
	return stdlib.OpenDB(*config)
}

// Close frees the migrator; the store's pool stays open.
func (m *Migrator) Close() error { return errors.Join(m.polite.Close(), m.patient.Close()) }

// Up applies every missing migration, and returns their names. Only ctx limits its
// time.
func (m *Migrator) Up(ctx context.Context) ([]string, error) {
	names := []string{}
	err := m.alone(ctx, func() error {
		sources, err := m.polite.Status(ctx)
		if err != nil {
			return err
		}
		for _, source := range sources {
			if source.State == goose.StateApplied {
				continue
			}
			if err := m.step(ctx, source.Source, true); err != nil {
				return err
			}
			names = append(names, source.Source.Path)
		}
		return nil
	})
	return names, wrap(err, "migrate up")
}

// Down takes back the newest migration, with the data in its tables, and returns its
// name, or "" if there is none.
func (m *Migrator) Down(ctx context.Context) (name string, err error) {
	err = m.alone(ctx, func() error {
		sources, err := m.polite.Status(ctx)
		if err != nil {
			return err
		}
		for i := len(sources) - 1; i >= 0; i-- {
			if source := sources[i]; source.State == goose.StateApplied {
				name = source.Source.Path
				return m.step(ctx, source.Source, false)
			}
		}
		return nil
	})
	return name, wrap(err, "migrate down")
}

// alone calls f while it keeps other migrators off the database.
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

// MigrationStatus is one migration and whether it is applied.
type MigrationStatus struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// Status lists all migrations in their order.
func (m *Migrator) Status(ctx context.Context) ([]MigrationStatus, error) {
	sources, err := m.polite.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	statuses := make([]MigrationStatus, 0, len(sources))
	for _, source := range sources {
		statuses = append(statuses, MigrationStatus{Name: source.Source.Path, Applied: source.State == goose.StateApplied})
	}
	return statuses, nil
}

// CountRows counts the rows of a table, up to a limit. With a column it counts only
// those that have a value in it.
func (s *Store) CountRows(ctx context.Context, table, column string, limit int) (int, error) {
	query := "SELECT count(*) FROM (SELECT FROM " + pgx.Identifier{table}.Sanitize()
	if column != "" {
		query += " WHERE " + pgx.Identifier{column}.Sanitize() + " IS NOT NULL"
	}
	var count int
	if err := s.Pool.QueryRow(ctx, query+" LIMIT $1) r", limit).Scan(&count); err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", table, err)
	}
	return count, nil
}
