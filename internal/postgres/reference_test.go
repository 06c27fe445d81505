package postgres_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// writeDocs makes TestReference write the comments into the document.
var writeDocs = flag.Bool("write-docs", false, "write the tables and their comments into docs/reference.md")

const reference = "../../docs/reference.md"

// docs/reference.md shows the database's comments: all columns of each table that has a
// heading, and one line for each other table. All tables and columns have a comment.
//
// To update the document: go test ./internal/postgres -run TestReference -write-docs
func TestReference(t *testing.T) {
	t.Parallel()

	source := must(os.ReadFile(reference))(t)
	want := describe(t, string(source), relations(t, postgrestest.New(t)))
	for _, decision := range notification.Decisions() {
		require.Contains(t, want, "\n| `"+string(decision)+"` |")
	}
	if *writeDocs {
		require.NoError(t, os.WriteFile(reference, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(source), "to update it: go test ./internal/postgres -run TestReference -write-docs")
}

var (
	tableHeading = regexp.MustCompile("(?m)^### `(\\w+)`\n")
	nextHeading  = regexp.MustCompile("(?m)^##")
)

// otherTables begins the list of the tables that have no heading.
const otherTables = "| table | holds |\n|---|---|\n"

// describe writes the description of each table below its heading, and the list of the
// others.
func describe(t *testing.T, document string, all []relation) string {
	t.Helper()
	byName := map[string]relation{}
	for _, r := range all {
		byName[r.name] = r
	}
	document = tableHeading.ReplaceAllStringFunc(document, func(heading string) string {
		name := tableHeading.FindStringSubmatch(heading)[1]
		r, known := byName[name]
		require.True(t, known, "%s has a heading for %s, which the database does not have", reference, name)
		delete(byName, name)
		return heading + "\n" + r.text() + "\n\x00"
	})
	document = regexp.MustCompile("(?s)\x00.*?\n(#|$)").ReplaceAllString(document, "$1")
	before, after, found := strings.Cut(document, otherTables)
	require.True(t, found, "%s has no list of the other tables", reference)
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		about, _, _ := strings.Cut(byName[name].comment, ". ")
		fmt.Fprintf(&list, "| `%s` | %s |\n", name, escaped(strings.TrimSuffix(about, ".")))
	}
	return before + otherTables + list.String() + after[nextHeading.FindStringIndex(after)[0]-1:]
}

// text returns the comment of a table and the table of its columns.
func (r relation) text() string {
	text := escaped(r.comment)
	for _, key := range r.keys {
		text += " One row per `" + strings.ReplaceAll(key, ", ", "`, `") + "`."
	}
	text += "\n\n| column | type | default | meaning |\n|---|---|---|---|\n"
	for _, c := range r.columns {
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", c.Name, typeNames.Replace(c.Type), c.unset(), escaped(c.Comment))
	}
	return text
}

var (
	typeNames = strings.NewReplacer("timestamp with time zone", "timestamptz", "time without time zone", "time")
	cast      = regexp.MustCompile(`::[a-z ]+$`)
)

// unset returns the value of a column that an INSERT does not name.
func (c column) unset() string {
	switch {
	case c.Counted:
		return "counts up"
	case c.Computed:
		return "computed"
	case c.Default != "":
		return "`" + cast.ReplaceAllString(c.Default, "") + "`"
	case c.Required:
		return "required"
	default:
		return "null"
	}
}

func escaped(comment string) string {
	return strings.NewReplacer("*", `\*`, "|", `\|`).Replace(comment)
}

// A comment on a column names each value that the column may have.
func TestCommentsNameTheValues(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	checked := 0
	for _, relation := range relations(t, s) {
		for _, c := range relation.columns {
			for _, value := range c.Values {
				require.Contains(t, c.Comment, value, "comment on %s.%s", relation.name, c.Name)
				checked++
			}
		}
	}
	require.NotZero(t, checked)
}

// relation is a table or a view.
type relation struct {
	name, comment string
	keys          []string
	columns       []column
}

// column is a column of a relation. Default is written as in SQL.
type column struct {
	Relation, About string
	Keys            []string // columns that are unique together
	Name, Type      string
	Default         string
	Required        bool
	Counted         bool
	Computed        bool
	Comment         string
	Values          []string // values that a CHECK lists
}

// columnsQuery reads the columns of all relations that the migrations create.
const columnsQuery = `
	SELECT c.relname AS relation, coalesce(obj_description(c.oid), '') AS about,
	       ARRAY (
	           SELECT string_agg(k.attname, ', ' ORDER BY array_position(u.conkey, k.attnum))
	           FROM   pg_constraint u
	           JOIN   pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (u.conkey) AND k.attidentity = ''
	           WHERE  u.conrelid = c.oid
	           AND    u.contype IN ('p', 'u')
	           GROUP BY u.oid
	           ORDER BY u.contype, u.conname) AS keys,
	       a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
	       coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS default,
	       a.attnotnull AS required, a.attidentity <> '' AS counted, a.attgenerated <> '' AS computed,
	       coalesce(col_description(c.oid, a.attnum), '') AS comment,
	       ARRAY (
	           SELECT v[1]
	           FROM   pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''([A-Z_]+)''::text', 'g') AS v
	           WHERE  k.conrelid = c.oid
	           AND    k.contype = 'c'
	           AND    k.conkey = ARRAY [a.attnum]
	           AND    pg_get_constraintdef(k.oid) LIKE '%= ANY (ARRAY[%') AS values
	FROM   pg_class c
	JOIN   pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE  c.relnamespace = 'public'::regnamespace
	AND    c.relkind IN ('r', 'p', 'v')
	AND    c.relname !~ '^goose_|^herald_migrations$'
	ORDER BY c.relname, a.attnum`

// relations returns the relations that Herald's migrations create, by name.
func relations(t *testing.T, s *postgres.Store) []relation {
	t.Helper()
	rows := must(s.Pool.Query(t.Context(), columnsQuery))(t)
	columns := must(pgx.CollectRows(rows, pgx.RowToStructByName[column]))(t)
	var all []relation
	for _, c := range columns {
		require.NotEmpty(t, c.About, "there is no comment on %s", c.Relation)
		require.NotEmpty(t, c.Comment, "there is no comment on %s.%s", c.Relation, c.Name)
		if len(all) == 0 || all[len(all)-1].name != c.Relation {
			all = append(all, relation{name: c.Relation, comment: c.About, keys: c.Keys})
		}
		last := &all[len(all)-1]
		last.columns = append(last.columns, c)
	}
	return all
}
