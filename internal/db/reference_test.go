package db_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// writeDocs makes TestReference write the comments into the document.
var writeDocs = flag.Bool("write-docs", false, "write the tables and their comments into docs/reference.md")

const reference = "../../docs/reference.md"

// docs/reference.md shows the database's comments: the columns of each table that has a heading,
// one line for each other table that users fill. All tables and columns have a comment.
//
// To update the document: go test ./internal/db -run TestReference -write-docs
func TestReference(t *testing.T) {
	t.Parallel()

	source := roomtest.Must(os.ReadFile(reference))(t)
	want := describe(t, string(source), relations(t, postgrestest.New(t)))
	for _, decision := range notification.Decisions() {
		require.Contains(t, want, "\n   * `"+string(decision)+"`: ")
	}
	if *writeDocs {
		require.NoError(t, os.WriteFile(reference, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(source), "to update it: go test ./internal/db -run TestReference -write-docs")
}

var tableHeading = regexp.MustCompile("(?m)^### `(\\w+)`\n")

const otherTables = "These are yours too:\n\n"

// alsoYours lists the tables without a heading that users fill.
var alsoYours = []string{
	"channel_user_type", "entity_follow", "entity_mute", "entity_name", "event_category", "event_type_approval", "event_type_schema",
	"frequency_cap", "notification_layout",
	"user_category_preferences", "user_settings", "user_type",
}

// describe writes the description of each table below its heading, and the list of the others that
// users fill.
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
	var yours strings.Builder
	for _, name := range alsoYours {
		require.Contains(t, byName, name)
		about, _, _ := strings.Cut(byName[name].comment, ". ")
		yours.WriteString(wrapped("* `"+name+"`: "+escaped(strings.TrimSuffix(about, ".")), "  "))
	}
	before, after, found := strings.Cut(document, otherTables)
	require.True(t, found, "%s has no %q", reference, otherTables)
	_, rest, _ := strings.Cut(after, "\n\n")
	return before + otherTables + yours.String() + "\n" + rest
}

// heralds lists the columns of tables with a heading that Herald fills.
var heralds = []string{
	"created_at", "published_at", "attempt_count", "lease_owner", "lease_until", "source", "acknowledged_at", "produced_at", "withdrawn_at",
	"shipped", "changed_at", "changed_by",
}

// text returns the comment of a table and the list of its columns.
func (r relation) text() string {
	text := escaped(r.comment)
	for _, key := range r.keys {
		text += " Key: `" + strings.ReplaceAll(key, ", ", "`, `") + "`."
	}
	text = wrapped(text, "") + "\n"
	for _, c := range r.columns {
		if !c.Counted && !c.Computed && !slices.Contains(heralds, c.Name) {
			text += wrapped(fmt.Sprintf("* `%s`%s: %s", c.Name, c.form(), escaped(c.Comment)), "  ")
		}
	}
	return text
}

// wrapped breaks a text into lines of at most 100 characters. indent begins all lines but the first.
func wrapped(text, indent string) string {
	var lines strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			length = n
		case length+1+n > 100:
			lines.WriteString("\n" + indent)
			length = len(indent) + n
		default:
			lines.WriteString(" ")
			length += 1 + n
		}
		lines.WriteString(word)
	}
	return lines.String() + "\n"
}

var (
	typeNames = strings.NewReplacer("timestamp with time zone", "timestamptz", "time without time zone", "time")
	cast      = regexp.MustCompile(`::[a-z ]+$`)
)

// form returns the type of a column, unless it is text or boolean, and the column's default, or that
// an INSERT must name the column.
func (c column) form() string {
	form := ""
	if c.Type != "text" && c.Type != "boolean" {
		form = " " + typeNames.Replace(c.Type)
	}
	switch {
	case c.Default != "":
		form += " (`" + cast.ReplaceAllString(c.Default, "") + "`)"
	case c.Required:
		form += " (required)"
	}
	return form
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
func relations(t *testing.T, s *db.DB) []relation {
	t.Helper()
	rows := roomtest.Must(s.Pool.Query(t.Context(), columnsQuery))(t)
	columns := roomtest.Must(pgx.CollectRows(rows, pgx.RowToStructByName[column]))(t)
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
