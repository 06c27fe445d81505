package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// created matches the statements of a migration's Up that create something: the kind, and
// the name.
var created = regexp.MustCompile(`(?im)^\s*CREATE (?:OR REPLACE )?(?:UNIQUE )?` +
	`(TABLE|VIEW|MATERIALIZED VIEW|INDEX|SEQUENCE|TYPE|DOMAIN|FUNCTION)(?: CONCURRENTLY)?(?: IF NOT EXISTS)? (\w+)`)

// names holds the names that migrations create. The relations are the tables and everything in
// their namespace: views, indexes, sequences, types.
type names struct{ tables, relations, functions []string }

// named returns the names that migrations create: the applied ones, or the others.
func (m *Migrator) named(versions map[int64]bool, applied bool) (names, error) {
	var found names
	for _, source := range m.polite.ListSources() {
		if versions[source.Version] != applied {
			continue
		}
		text, err := fs.ReadFile(m.files, source.Path)
		if err != nil {
			return names{}, fmt.Errorf("read %s: %w", source.Path, err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, match := range created.FindAllStringSubmatch(up, -1) {
			switch kind, name := strings.ToUpper(match[1]), strings.ToLower(match[2]); kind {
			case "FUNCTION":
				found.functions = append(found.functions, name)
			case "TABLE":
				found.tables = append(found.tables, name)
				fallthrough
			default:
				found.relations = append(found.relations, name)
			}
		}
	}
	return found, nil
}

// refuseClashes refuses to migrate if the application uses a name that the missing
// migrations need. Names from applied migrations are Herald's, whatever replaced them. An index
// that an interrupted migration left on one of Herald's tables is also Herald's.
func (m *Migrator) refuseClashes(ctx context.Context, applied map[int64]bool) error {
	ours, err := m.named(applied, true)
	if err != nil {
		return err
	}
	wanted, err := m.named(applied, false)
	if err != nil {
		return err
	}
	isOurs := func(name string) bool {
		return slices.Contains(ours.relations, name) || slices.Contains(ours.functions, name)
	}
	taken, err := m.list(ctx, takenNames, m.schema, slices.DeleteFunc(wanted.relations, isOurs), slices.DeleteFunc(wanted.functions, isOurs),
		ours.relations)
	if err != nil || len(taken) == 0 {
		return err
	}
	return m.clash(taken)
}

// takenNames lists the relations and types of the names $2, and the functions of the names $3.
// It skips indexes on the tables $4.
const takenNames = `
	SELECT pg_describe_object(o.classid, o.oid, 0)
	FROM  (SELECT tableoid AS classid, oid, relname AS name, relnamespace AS schema FROM pg_class
	       UNION ALL
	       SELECT tableoid, oid, typname, typnamespace FROM pg_type WHERE typrelid = 0
	       UNION ALL
	       SELECT tableoid, oid, proname, pronamespace FROM pg_proc) o
	JOIN   pg_namespace n ON n.oid = o.schema
	WHERE  n.nspname = $1
	AND    o.name = ANY (CASE o.classid WHEN 'pg_proc'::regclass THEN $3::text[] ELSE $2::text[] END)
	AND    NOT EXISTS (SELECT FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid WHERE i.indexrelid = o.oid AND t.relname = ANY ($4))
	ORDER  BY 1`

// clash returns the error for names that others use.
func (m *Migrator) clash(taken []string) error {
	return &SchemaError{
		fmt.Sprintf("schema %s already has objects with names that Herald needs: %s; nothing was changed", m.schema, strings.Join(taken, ", ")),
		"give Herald a separate schema: add search_path=herald to DATABASE_URL, for instance postgres://…?search_path=herald, " +
			"and run `starter migrate up` again, which creates the schema",
	}
}
