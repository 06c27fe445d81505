package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

var (
	noTransaction   = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION$`)
	concurrentIndex = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)`)
)

// step applies or reverts one migration. Others wait behind a migration in a transaction. So if the
// migration does not get its locks soon, step tries again a little later. A migration without a
// transaction locks nobody out, so it waits.
func (m *Migrator) step(ctx context.Context, source *goose.Source, up bool) error {
	text, err := fs.ReadFile(m.files, source.Path)
	if err != nil {
		return fmt.Errorf("read %s: %w", source.Path, err)
	}
	m.say(source.Path)
	for wait := time.Second; ; wait = min(2*wait, longestPause) {
		err := m.try(ctx, source.Version, string(text), up)
		if !lockedOut(err) {
			return err
		}
		m.say(fmt.Sprintf("%s: another transaction holds a table that the migration needs; trying again in %s", source.Path, wait))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (m *Migrator) try(ctx context.Context, version int64, text string, up bool) error {
	if !noTransaction.MatchString(text) {
		if err := m.endVacuums(ctx); err != nil {
			return err
		}
		_, err := m.polite.ApplyVersion(ctx, version, up)
		return err
	}
	if err := m.dropHalfBuilt(ctx, text); err != nil {
		return err
	}
	_, err := m.patient.ApplyVersion(ctx, version, up)
	return err
}

// endVacuums waits until nobody vacuums or analyzes Herald's tables. Postgres ends an autovacuum
// when somebody has waited for it for a second, which is longer than lockTimeout. Only other vacuums
// and builds of indexes wait behind this lock.
func (m *Migrator) endVacuums(ctx context.Context) error {
	const vacuumed = `
		SELECT DISTINCT c.relname::text
		FROM   pg_locks l
		JOIN   pg_class c ON c.oid = l.relation
		JOIN   pg_namespace n ON n.oid = c.relnamespace
		WHERE  l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND    l.mode = 'ShareUpdateExclusiveLock'
		AND    n.nspname = $1
		AND    c.relkind IN ('r', 'p')
		AND    pg_has_role(c.relowner, 'USAGE')`

	tables, err := m.list(ctx, vacuumed, m.schema)
	for _, table := range tables {
		tx, failed := m.db.BeginTx(ctx, nil)
		if failed != nil {
			return failed
		}
		_, err = tx.ExecContext(ctx, "LOCK TABLE "+pgx.Identifier{table}.Sanitize()+" IN SHARE UPDATE EXCLUSIVE MODE")
		if err = errors.Join(err, tx.Rollback()); err != nil {
			return fmt.Errorf("wait for the vacuum of %s: %w", table, err)
		}
	}
	return err
}

// lockedOut reports whether a statement did not get its locks in time, or was ended to
// resolve a deadlock. In both cases nothing has changed.
func lockedOut(err error) bool {
	const lockNotAvailable, deadlockDetected = "55P03", "40P01"
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == lockNotAvailable || refused.Code == deadlockDetected)
}

// dropHalfBuilt drops the indexes that an interrupted run of a migration left behind.
// Postgres keeps them as invalid and does not use them, but IF NOT EXISTS finds them.
func (m *Migrator) dropHalfBuilt(ctx context.Context, text string) error {
	const invalid = `
		SELECT EXISTS (
			SELECT FROM pg_index i
			JOIN   pg_class c ON c.oid = i.indexrelid
			WHERE  c.relname = $1
			AND    pg_table_is_visible(c.oid)
			AND    NOT i.indisvalid)`

	for _, match := range concurrentIndex.FindAllStringSubmatch(text, -1) {
		var halfBuilt bool
		if err := m.db.QueryRowContext(ctx, invalid, match[1]).Scan(&halfBuilt); err != nil {
			return fmt.Errorf("look at index %s: %w", match[1], err)
		}
		if !halfBuilt {
			continue
		}
		if _, err := m.db.ExecContext(ctx, "DROP INDEX CONCURRENTLY "+match[1]); err != nil {
			return fmt.Errorf("drop half-built index %s: %w", match[1], err)
		}
	}
	return nil
}

func (m *Migrator) say(doing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doing, m.since = doing, time.Now()
}

// Doing returns the migrator's current step, and its duration.
func (m *Migrator) Doing() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%s (%s)", m.doing, time.Since(m.since).Round(time.Second))
}
