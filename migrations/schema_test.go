package migrations_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
)

var writeDocs = flag.Bool("write-docs", false, "write schema.sql")

// schema.sql shows the whole schema after all migrations, for readers: each table with its columns,
// constraints, indexes and triggers, then the views and the functions. Nothing applies it.
//
// To update it: go test ./migrations -write-docs
func TestSchema(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	text := "-- The schema after all migrations. To update it: go test ./migrations -write-docs\n"
	for _, name := range postgrestest.List(t, s, relationsOf, "r") {
		text += "\n" + table(t, s, name)
	}
	for _, name := range postgrestest.List(t, s, relationsOf, "v") {
		text += "\n" + view(t, s, name)
	}
	for _, function := range postgrestest.List(t, s, `
		SELECT format(E'%s;\n', rtrim(replace(pg_get_functiondef(oid), quote_ident(current_schema()) || '.', ''), E'\n'))
		FROM   pg_proc
		WHERE  pronamespace = current_schema()::regnamespace
		ORDER BY proname`) {
		text += "\n" + function
	}
	if *writeDocs {
		require.NoError(t, os.WriteFile("schema.sql", []byte(text), 0o644))
		return
	}
	written, err := os.ReadFile("schema.sql")
	require.NoError(t, err)
	require.Equal(t, text, string(written), "to update it: go test ./migrations -write-docs")
}

const relationsOf = `
	SELECT relname::text
	FROM   pg_class
	WHERE  relnamespace = current_schema()::regnamespace
	AND    relkind = $1::"char"
	AND    relname <> 'herald_migrations'
	ORDER BY relname`

// table returns the statements that make a table. The comments become comments of SQL.
func table(t *testing.T, s *db.DB, name string) string {
	t.Helper()
	type line struct{ Text, Comment string }
	rows, _ := s.Pool.Query(t.Context(), `
		SELECT concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
		                 CASE WHEN a.attidentity <> '' THEN 'GENERATED ' || CASE a.attidentity WHEN 'a' THEN 'ALWAYS'
		                     ELSE 'BY DEFAULT' END || ' AS IDENTITY'
		                      WHEN a.attgenerated <> '' THEN format('GENERATED ALWAYS AS (%s) STORED', pg_get_expr(d.adbin, d.adrelid))
		                      ELSE 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END,
		                 CASE WHEN a.attnotnull AND a.attidentity = '' THEN 'NOT NULL' END) AS text,
		       coalesce(col_description(a.attrelid, a.attnum), '') AS comment
		FROM   pg_attribute a
		LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
		WHERE  a.attrelid = $1::regclass
		AND    a.attnum > 0
		AND    NOT a.attisdropped
		ORDER BY a.attnum`, name) // CollectRows returns its error
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByName[line])
	require.NoError(t, err)
	constraints := postgrestest.List(t, s, `
		SELECT format('CONSTRAINT %s %s', conname, pg_get_constraintdef(oid))
		FROM   pg_constraint
		WHERE  conrelid = $1::regclass
		AND    contype IN ('p', 'u', 'f', 'c')
		ORDER BY position(contype::text IN 'pufc'), conname`, name)
	text := "-- " + postgrestest.Get[string](t, s, "SELECT coalesce(obj_description($1::regclass), '')", name) + "\nCREATE TABLE " + name +
		" (\n"
	for i, column := range columns {
		text += "    " + column.Text + comma(i < len(columns)-1 || len(constraints) > 0) + " -- " + column.Comment + "\n"
	}
	for i, constraint := range constraints {
		text += "    " + constraint + comma(i < len(constraints)-1) + "\n"
	}
	text += ")" + postgrestest.Get[string](t, s,
		"SELECT coalesce(' WITH (' || array_to_string(reloptions, ', ') || ')', '') FROM pg_class WHERE oid = $1::regclass", name) + ";\n"
	return text + strings.Join(postgrestest.List(t, s, `
		SELECT replace(definition, ' ON ' || quote_ident(current_schema()) || '.', ' ON ') || E';\n'
		FROM  (SELECT 1 AS kind, pg_get_indexdef(i.indexrelid) AS definition
		       FROM   pg_index i
		       WHERE  i.indrelid = $1::regclass
		       AND    NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u'))
		       UNION ALL
		       SELECT 2, replace(pg_get_triggerdef(oid), 'FUNCTION ' || quote_ident(current_schema()) || '.', 'FUNCTION ')
		       FROM   pg_trigger
		       WHERE  tgrelid = $1::regclass
		       AND    NOT tgisinternal) AS made
		ORDER BY kind, definition`, name), "")
}

func comma(more bool) string {
	if more {
		return ","
	}
	return ""
}

func view(t *testing.T, s *db.DB, name string) string {
	t.Helper()
	return postgrestest.Get[string](t, s, `
		SELECT format(E'-- %s\nCREATE VIEW %s AS\n%s\n', obj_description($1::regclass), $1::text, pg_get_viewdef($1::regclass))`, name)
}
