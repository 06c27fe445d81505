package postgres_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// writeDocs makes TestReference write what the comments say into the document.
var writeDocs = flag.Bool("write-docs", false, "write the tables and their comments into docs/reference.md")

const reference = "../../docs/reference.md"

// What docs/reference.md says of each table and view is what the database says of it:
// there is a comment on all of them, and on all of their columns. The document has a
// heading for each, and what stands below it is made from the database.
//
// To update the document: go test ./internal/postgres -run TestReference -write-docs
func TestReference(t *testing.T) {
	t.Parallel()

	source, err := os.ReadFile(reference)
	require.NoError(t, err)
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

var headings = regexp.MustCompile("(?m)^(?:### `(\\w+)`|##.*)\n")

// describe writes what is known of each relation below its heading.
func describe(t *testing.T, document string, all []relation) string {
	t.Helper()
	byName := map[string]relation{}
	for _, r := range all {
		byName[r.name] = r
	}
	found := headings.FindAllStringSubmatchIndex(document, -1)
	var text strings.Builder
	text.WriteString(document[:found[0][0]])
	for i, at := range found {
		end := len(document)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if at[2] < 0 {
			text.WriteString(document[at[0]:end])
			continue
		}
		name := document[at[2]:at[3]]
		r, known := byName[name]
		require.True(t, known, "%s has a heading for %s, which the database does not have", reference, name)
		delete(byName, name)
		text.WriteString(document[at[0]:at[1]] + "\n" + r.text(all) + "\n")
	}
	require.Empty(t, byName, "%s has no heading for these: add \"### `name`\" where a reader looks for it", reference)
	return text.String()
}

// text is what a relation is, and the table of its columns. A view of whole rows of
// notification has none.
func (r relation) text(all []relation) string {
	if r.view && r.ofNotification(all) {
		return escaped(r.comment) + " Its columns are those of `notification`.\n"
	}
	text := escaped(r.comment)
	for _, key := range r.keys {
		text += " One row per `" + strings.ReplaceAll(key, ", ", "`, `") + "`."
	}
	text += "\n\n| column | type | null | default | meaning |\n|---|---|---|---|---|\n"
	for _, c := range r.columns {
		text += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", c.Name, typeNames.Replace(c.Type), c.nullable(r.view), c.unset(r.view), escaped(c.Comment))
	}
	return text
}

func (r relation) ofNotification(all []relation) bool {
	comments := map[string]string{}
	for _, other := range all {
		for _, c := range other.columns {
			if other.name == "notification" {
				comments[c.Name] = c.Comment
			}
		}
	}
	for _, c := range r.columns {
		if comments[c.Name] != c.Comment {
			return false
		}
	}
	return true
}

var (
	typeNames = strings.NewReplacer("timestamp with time zone", "timestamptz", "time without time zone", "time")
	cast      = regexp.MustCompile(`::[a-z ]+$`)
)

// nullable says whether a column may be null.
func (c column) nullable(ofView bool) string {
	switch {
	case ofView:
		return ""
	case c.Required:
		return "no"
	default:
		return "yes"
	}
}

// unset is what a column holds where an INSERT does not name it.
func (c column) unset(ofView bool) string {
	switch {
	case ofView:
		return ""
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
