package postgrestest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/migrations"
)

// templateLock is the key of the advisory lock for making a template. Such locks are per
// database: all test processes take it in the database of DATABASE_URL.
const templateLock = 0x4845_5241_4c44 // "HERALD"

// ensureTemplate makes the migrated database that tests copy, unless it exists, and returns
// its name. The name contains a hash of the migrations and their table's name. So a new
// schema gets a new template. An unfinished template has another name.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, server string) (string, error) {
	name, err := templateName(migrations.FS)
	if err != nil {
		return "", err
	}
	if exists, err := databaseExists(ctx, conn, name); exists || err != nil {
		return name, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", fmt.Errorf("lock template: %w", err)
	}
	defer func() { _, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(templateLock)) }()
	if exists, err := databaseExists(ctx, conn, name); exists || err != nil {
		return name, err // another process made it while this one waited
	}
	return name, makeTemplate(ctx, conn, server, name)
}

func templateName(files fs.FS) (string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, migrate.VersionTable)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", fmt.Errorf("read migration: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return fmt.Sprintf("herald_template_%x", hash.Sum(nil)[:8]), nil
}

func databaseExists(ctx context.Context, conn *pgx.Conn, name string) (bool, error) {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("look for template: %w", err)
	}
	return exists, nil
}

// makeTemplate migrates a database under a temporary name. It renames the database when it
// is complete and has no connections.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	unfinished := name + "_unfinished"
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(unfinished)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop unfinished template: %w", err)
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(unfinished)); err != nil {
		return fmt.Errorf("create template: %w", err)
	}
	if err := migrateAll(ctx, urlOf(server, unfinished, "2")); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", quote(unfinished), quote(name))); err != nil {
		return fmt.Errorf("finish template: %w", err)
	}
	return nil
}

func migrateAll(ctx context.Context, url string) error {
	store, err := db.Open(ctx, url, "test template")
	if err != nil {
		return err
	}
	defer store.Close()
	migrator, err := migrate.New(ctx, store.Pool, migrations.FS)
	if err != nil {
		return err
	}
	if _, err := migrator.Up(ctx); err != nil {
		return err
	}
	return migrator.Close()
}
