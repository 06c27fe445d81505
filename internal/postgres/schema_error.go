package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// schemaError is a database's error with the names of what it is about: tables, columns
// and constraints, which tell an operator what to mend, and never a value of a row.
type schemaError struct {
	error
	schema string
}

func (e *schemaError) Unwrap() error { return e.error }

// Schema is "constraint recipient_pkey of table recipient", or what the database says
// about the text of a statement: "column r.locale does not exist".
func (e *schemaError) Schema() string { return e.schema }

// withSchema adds names to a database's error where they are known to hold no data.
func withSchema(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	if schema := schemaOf(refused); schema != "" {
		return &schemaError{err, schema}
	}
	return err
}

func schemaOf(refused *pgconn.PgError) string {
	const noPrivilege = "42501"
	// An error with a position was found in the text of the statement, before any row was
	// read. One with a context was raised by a function, which may say anything.
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
