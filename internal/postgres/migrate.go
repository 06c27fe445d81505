package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrator applies migrations. Several may run at once: a session lock lets one
// work and the others wait.
type Migrator struct {
	provider *goose.Provider
	db       *sql.DB
}

// NewMigrator returns a migrator of the store's database with the migrations in files.
func (s *Store) NewMigrator(files fs.FS) (*Migrator, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // look every second, for five minutes
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	db := stdlib.OpenDBFromPool(s.Pool)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return &Migrator{provider: provider, db: db}, nil
}

// Close frees the migrator; the store's pool stays open.
func (m *Migrator) Close() error { return m.db.Close() }

// Up applies every migration that is missing, and returns their names.
func (m *Migrator) Up(ctx context.Context) ([]string, error) {
	results, err := m.provider.Up(ctx)
	names := make([]string, 0, len(results))
	for _, result := range results {
		names = append(names, result.Source.Path)
	}
	if err != nil {
		return names, fmt.Errorf("migrate up: %w", err)
	}
	return names, nil
}

// Down takes back the newest migration, with the data in its tables, and
// returns its name; empty when there is none.
func (m *Migrator) Down(ctx context.Context) (string, error) {
	version, err := m.provider.GetDBVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("migrate down: %w", err)
	}
	if version == 0 {
		return "", nil
	}
	result, err := m.provider.Down(ctx)
	if err != nil {
		return "", fmt.Errorf("migrate down: %w", err)
	}
	return result.Source.Path, nil
}

// MigrationStatus is one migration and whether it is applied.
type MigrationStatus struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// Status lists all migrations in their order.
func (m *Migrator) Status(ctx context.Context) ([]MigrationStatus, error) {
	sources, err := m.provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	statuses := make([]MigrationStatus, 0, len(sources))
	for _, source := range sources {
		statuses = append(statuses, MigrationStatus{Name: source.Source.Path, Applied: source.State == goose.StateApplied})
	}
	return statuses, nil
}
