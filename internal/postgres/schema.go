package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SchemaGap is the difference between the schema and the migrations of this build.
type SchemaGap struct {
	Empty   bool     // no migration is applied
	Missing []string // migrations that are not applied
	Ahead   []int64  // applied versions that this build does not know
}

// SchemaGap compares the schema with the migrations in files. It changes nothing. If
// something of an application is in the way, the error is a [SchemaError].
func (s *Store) SchemaGap(ctx context.Context, files fs.FS) (SchemaGap, error) {
	migrator, err := s.NewMigrator(ctx, files)
	if err != nil {
		return SchemaGap{}, err
	}
	defer func() { _ = migrator.Close() }() // it wrote nothing
	record, err := migrator.find(ctx)
	if err != nil {
		return SchemaGap{}, fmt.Errorf("compare the schema: %w", err)
	}
	unknown := maps.Clone(record.applied)
	delete(unknown, 0) // goose's own first row
	gap := SchemaGap{Empty: len(unknown) == 0}
	for _, source := range migrator.polite.ListSources() {
		if !record.applied[source.Version] {
			gap.Missing = append(gap.Missing, source.Path)
		}
		delete(unknown, source.Version)
	}
	gap.Ahead = slices.Sorted(maps.Keys(unknown))
	return gap, nil
}

// Current returns nil if the database answers and has all migrations in files. For a role
// that may not read their record, it only checks that there is a schema.
func (s *Store) Current(ctx context.Context, files fs.FS) error {
	gap, err := s.SchemaGap(ctx, files)
	switch {
	case MayNotRead(err):
		return s.Ready(ctx)
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

// MayNotRead reports whether the database refused the role a table.
func MayNotRead(err error) bool {
	const insufficientPrivilege = "42501" // https://www.postgresql.org/docs/current/errcodes-appendix.html
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == insufficientPrivilege
}

// errorWithSchema is a database error with names of tables, columns and constraints. They tell
// an operator what to correct, and never contain a value of a row.
type errorWithSchema struct {
	error
	schema string
}

func (e *errorWithSchema) Unwrap() error { return e.error }

// Schema returns "constraint recipient_pkey of table recipient", or the database's message
// about the text of a statement: "column r.locale does not exist".
func (e *errorWithSchema) Schema() string { return e.schema }

// withSchema adds names to a database error if they are known to hold no data.
func withSchema(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	if schema := schemaOf(refused); schema != "" {
		return &errorWithSchema{err, schema}
	}
	return err
}

func schemaOf(refused *pgconn.PgError) string {
	const noPrivilege = "42501"
	// An error with a position was found in the text of the statement, before any row was
	// read. An error with a context comes from a function, which may say anything.
	aboutTheText := strings.HasPrefix(refused.Code, "42") && (refused.Position > 0 || refused.Code == noPrivilege)
	if aboutTheText && refused.Where == "" {
		return refused.Message
	}
	var parts []string
	for _, part := range []struct{ kind, name string }{
		{"constraint", refused.ConstraintName}, {"column", refused.ColumnName}, {"table", refused.TableName},
	} {
		if part.name != "" {
			parts = append(parts, part.kind+" "+part.name)
		}
	}
	return strings.Join(parts, " of ")
}
