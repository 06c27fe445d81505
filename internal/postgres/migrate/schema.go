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
		       coalesce((SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1), false),
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
		return &SchemaError{fmt.Sprintf("search_path names schema %s first, which does not exist, and role %s may not create schemas", m.schema, user),
			fmt.Sprintf("as the owner of database %s: CREATE SCHEMA %s AUTHORIZATION %s", database, schema, role)}
	case !exists:
		if _, err := m.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
			return fmt.Errorf("create schema %s: %w", m.schema, err)
		}
		m.prepared = append(m.prepared, "created schema "+m.schema)
	}
	return nil
}

const (
	// formerTable is goose's default table, where Herald wrote versions up to
	// formerVersions.
	formerTable    = "goose_db_version"
	formerVersions = 18
)

// findFormer reads the migrations of a release that wrote into goose_db_version. An
// application's goose may also write there. If only the application's goose wrote there, there is
// no event_outbox with leases. Versions that are not Herald's first ones are an error.
func (m *Migrator) findFormer(ctx context.Context) (record, error) {
	outbox, err := m.columns(ctx, "event_outbox")
	if err != nil || !has(outbox, "seq", "lease_owner", "lease_until") {
		return record{}, err
	}
	former, err := m.columns(ctx, formerTable)
	if err != nil || len(former) == 0 {
		return record{}, err
	}
	all, err := m.versions(ctx, formerTable)
	if err != nil {
		return record{}, err
	}
	applied := map[int64]bool{}
	for version := int64(1); version <= formerVersions && all[version]; version++ {
		applied[version] = true
	}
	for version := range all {
		if version >= 1 && version <= formerVersions && !applied[version] {
			return record{}, m.mixed()
		}
	}
	names, err := m.named(applied, true)
	if err != nil {
		return record{}, err
	}
	there, err := m.list(ctx, "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY ($2)", m.schema, names.tables)
	if err != nil {
		return record{}, err
	}
	if len(applied) == 0 || !has(there, names.tables...) {
		return record{}, m.mixed()
	}
	return record{formerTable, applied}, nil
}

// mixed returns the error for a goose_db_version that mixes Herald's versions with an
// application's.
func (m *Migrator) mixed() error {
	return &SchemaError{
		fmt.Sprintf("schema %s has Herald's event_outbox, but %s does not tell which of Herald's migrations 1 to %d are applied, because some of these versions are not Herald's",
			m.schema, formerTable, formerVersions),
		fmt.Sprintf("write down the versions that are applied: CREATE TABLE %s (LIKE %s INCLUDING ALL), with one row for 0 and for each version; see docs/upgrading.md", VersionTable, formerTable),
	}
}

// takeOver copies the rows of Herald's migrations.
var takeOver = fmt.Sprintf(`
	INSERT INTO %s (version_id, is_applied, tstamp)
	SELECT   version_id, is_applied, coalesce(tstamp, now())
	FROM     %s
	WHERE    version_id BETWEEN 1 AND %d
	ORDER BY id`, VersionTable, formerTable, formerVersions)
