package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"herald/internal/db"
)

// Gap is the difference between the schema and the migrations of this build.
type Gap struct {
	Empty   bool     // no migration is applied
	Missing []string // migrations that are not applied
	Ahead   []int64  // applied versions that this build does not know
}

// Compare compares the schema with the migrations in files. It changes nothing. If an
// application's objects are in the way, the error is a [SchemaError].
func Compare(ctx context.Context, db *db.DB, files fs.FS) (Gap, error) {
	migrator, err := New(ctx, db.Pool, files)
	if err != nil {
		return Gap{}, err
	}
	defer func() { _ = migrator.Close() }() // it wrote nothing
	record, err := migrator.find(ctx)
	if err != nil {
		return Gap{}, fmt.Errorf("compare the schema: %w", err)
	}
	unknown := maps.Clone(record.applied)
	delete(unknown, 0) // goose's own first row
	gap := Gap{Empty: len(unknown) == 0}
	for _, source := range migrator.polite.ListSources() {
		if !record.applied[source.Version] {
			gap.Missing = append(gap.Missing, source.Path)
		}
		delete(unknown, source.Version)
	}
	gap.Ahead = slices.Sorted(maps.Keys(unknown))
	return gap, nil
}

// Usable returns nil if a worker or a gateway can use the database: it is not a read replica, it has
// all migrations in files, and it knows the process's secret. Call it after
// [db.DB.UseSecrets].
func Usable(ctx context.Context, db *db.DB, files fs.FS) error {
	if err := db.RequirePrimary(ctx); err != nil {
		return err
	}
	if err := current(ctx, db, files); err != nil {
		return err
	}
	return db.AgreeOnSecret(ctx)
}

// current returns nil if the database answers and has all migrations in files. For a role
// that may not read their record, it only checks that there is a schema.
func current(ctx context.Context, on *db.DB, files fs.FS) error {
	gap, err := Compare(ctx, on, files)
	switch {
	case db.MayNotRead(err):
		return on.Ready(ctx)
	case err != nil:
		return err
	case gap.Empty:
		return errors.New("the database has no schema of Herald's: run `starter migrate up`")
	case len(gap.Missing) > 0:
		return fmt.Errorf("the schema lacks %d migrations, from %s on: run `starter migrate up`", len(gap.Missing), gap.Missing[0])
	default:
		return nil
	}
}
