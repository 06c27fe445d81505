package db

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// insufficientPrivilege is from https://www.postgresql.org/docs/current/errcodes-appendix.html.
const insufficientPrivilege = "42501"

// MayNotRead reports whether the database refused the role a table.
func MayNotRead(err error) bool {
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
	// An error with a position was found in the text of the statement, before any row was
	// read. An error with a context comes from a function, which may say anything.
	aboutTheText := strings.HasPrefix(refused.Code, "42") && (refused.Position > 0 || refused.Code == insufficientPrivilege)
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
