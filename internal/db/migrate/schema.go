package migrate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SchemaError tells why a schema was not migrated, and what to do about it.
type SchemaError struct{ Problem, Remedy string }

func (e *SchemaError) Error() string { return e.Problem }

// pathElement matches the names in a search_path.
var pathElement = regexp.MustCompile(`"(?:[^"]|"")*"|[^",\s]+`)

// findSchema returns the schema of Herald's tables: the first in search_path, even if it does
// not exist yet. Postgres skips a missing schema, and would put the tables among an
// application's tables.
func findSchema(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	const query = `
		SELECT current_setting('search_path'),
		       current_user::text,
		       EXISTS (SELECT FROM pg_namespace WHERE nspname = current_user)`

	var path, user string
	var userHasSchema bool
	if err := pool.QueryRow(ctx, query).Scan(&path, &user, &userHasSchema); err != nil {
		return "", fmt.Errorf("read search_path: %w", err)
	}
	for _, element := range pathElement.FindAllString(path, -1) {
		name := strings.ToLower(element)
		if quoted, ok := strings.CutPrefix(element, `"`); ok {
			name = strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `""`, `"`)
		}
		switch {
		case name != "$user":
			return name, nil
		case userHasSchema:
			return user, nil
		}
	}
	return "", &SchemaError{"search_path names no schema", "add search_path=herald to DATABASE_URL"}
}

// ensureSchema creates Herald's schema if it is missing. It refuses a schema in which
// Herald may not create tables.
func (m *Migrator) ensureSchema(ctx context.Context) error {
	const query = `
		SELECT current_user::text,
		       current_database()::text,
		       EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
		       coalesce((SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1),
		           false),
		       has_database_privilege(current_database(), 'CREATE')`

	var user, database string
	var exists, mayCreateTables, mayCreateSchemas bool
	if err := m.db.QueryRowContext(ctx, query, m.schema).Scan(&user, &database, &exists, &mayCreateTables, &mayCreateSchemas); err != nil {
		return fmt.Errorf("look at schema %s: %w", m.schema, err)
	}
	schema, role := pgx.Identifier{m.schema}.Sanitize(), pgx.Identifier{user}.Sanitize()
	switch {
	case exists && !mayCreateTables:
		return &SchemaError{fmt.Sprintf("role %s may not create tables in schema %s", user, m.schema),
			fmt.Sprintf("as the owner of the schema: GRANT USAGE, CREATE ON SCHEMA %s TO %s", schema, role)}
	case !exists && !mayCreateSchemas:
		return &SchemaError{fmt.Sprintf("search_path names schema %s first, which does not exist, and role %s may not create schemas", m.schema,
			user),
			fmt.Sprintf("as the owner of database %s: CREATE SCHEMA %s AUTHORIZATION %s", database, schema, role)}
	case !exists:
		if _, err := m.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
			return fmt.Errorf("create schema %s: %w", m.schema, err)
		}
		m.prepared = append(m.prepared, "created schema "+m.schema)
	}
	return nil
}

// refuseFormer refuses a schema that a build before Herald 1.0 made. Its migrations had other numbers.
func (m *Migrator) refuseFormer(ctx context.Context) error {
	columns, err := m.columns(ctx, "delivery_attempt")
	if err != nil || !has(columns, "batch") {
		return err
	}
	return &SchemaError{
		fmt.Sprintf("schema %s was made before Herald 1.0, which cannot read it; nothing was changed", m.schema),
		"create a new database, or name a new schema by search_path in DATABASE_URL, run `starter migrate up` there, and copy the rows that " +
			"you need, such as recipients, rules and templates",
	}
}
