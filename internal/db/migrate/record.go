package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"herald/internal/db"
)

// VersionTable holds the applied migrations. It is not goose's default, so that Herald can
// share a database with an application's own goose.
const VersionTable = "herald_migrations"

// record holds the applied migrations. exists reports whether [VersionTable] does.
type record struct {
	exists  bool
	applied map[int64]bool
}

// find reads which migrations are applied. It changes nothing.
func (m *Migrator) find(ctx context.Context) (record, error) {
	own, err := m.columns(ctx, VersionTable)
	switch {
	case err != nil || len(own) == 0:
		return record{}, err
	case !has(own, "id", "version_id", "is_applied", "tstamp"):
		return record{}, m.clash([]string{"table " + VersionTable})
	}
	if err := m.refuseFormer(ctx); err != nil {
		return record{}, err
	}
	applied, err := m.versions(ctx, VersionTable)
	return record{true, applied}, err
}

// begin returns the applied migrations. Before Up, it refuses names that others use, then creates
// [VersionTable] if it is missing.
func (m *Migrator) begin(ctx context.Context, up bool) (record, error) {
	found, err := m.find(ctx)
	if err != nil || !up {
		return found, err
	}
	if err := m.refuseClashes(ctx, found.applied); err != nil || found.exists {
		return found, err
	}
	if err := m.ensureSchema(ctx); err != nil {
		return found, err
	}
	return found, m.createVersionTable(ctx)
}

func (m *Migrator) createVersionTable(ctx context.Context) error {
	store, err := database.NewStore(goose.DialectPostgres, VersionTable)
	if err != nil {
		return err
	}
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := store.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	for _, statement := range []string{describeVersionTable, "INSERT INTO " + VersionTable + " (version_id, is_applied) VALUES (0, true)"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make %s: %w", VersionTable, err)
		}
	}
	return tx.Commit()
}

const describeVersionTable = `
	COMMENT ON TABLE herald_migrations IS 'Which of Herald''s migrations are applied. Only starter migrate writes it.';
	COMMENT ON COLUMN herald_migrations.id IS 'Chosen by the database.';
	COMMENT ON COLUMN herald_migrations.version_id IS 'Number of the migration; 0: the table was made.';
	COMMENT ON COLUMN herald_migrations.is_applied IS 'Always true: a migration that is taken back loses its row.';
	COMMENT ON COLUMN herald_migrations.tstamp IS 'When it was applied, in the time zone of the session that applied it.'`

// Prepared returns the steps that Up took before the first migration, in words.
func (m *Migrator) Prepared() []string { return m.prepared }

// versions reads the applied versions from a table of goose.
func (m *Migrator) versions(ctx context.Context, table string) (map[int64]bool, error) {
	store, err := database.NewStore(goose.DialectPostgres, table)
	if err != nil {
		return nil, err
	}
	rows, err := store.ListMigrations(ctx, m.db)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	versions := map[int64]bool{}
	for _, row := range slices.Backward(rows) { // the newest row of a version counts
		if delete(versions, row.Version); row.IsApplied {
			versions[row.Version] = true
		}
	}
	return versions, nil
}

// columns lists the columns of a table in Herald's schema; none: there is no such table.
func (m *Migrator) columns(ctx context.Context, table string) ([]string, error) {
	return m.list(ctx, `
		SELECT a.attname::text
		FROM   pg_attribute a
		JOIN   pg_class c ON c.oid = a.attrelid
		JOIN   pg_namespace n ON n.oid = c.relnamespace
		WHERE  n.nspname = $1
		AND    c.relname = $2
		AND    a.attnum > 0
		AND    NOT a.attisdropped`, m.schema, table)
}

// list runs a query that returns a column of texts.
func (m *Migrator) list(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, _ := m.pool.Query(ctx, query, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, db.Wrap(err, "look at schema "+m.schema)
}

func has(all []string, wanted ...string) bool {
	return !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(all, name) })
}
