package dialects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Finding is a defect of a table for its dialect.
type Finding struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Missing returns the table's defects for its dialect: columns, types, a unique id, rights, indexes,
// triggers. It returns an error only if the database does not answer.
func (t *Table) Missing(ctx context.Context) ([]Finding, error) {
	r, err := t.relation(ctx)
	switch {
	case errors.Is(err, errNoTable):
		return []Finding{{
			fmt.Sprintf("the database has no table %s", t.source.Table),
			"correct `table:`, whose names are as Postgres keeps them, in lower case unless they were quoted; or `database_url_env:`; or create " +
				"the table",
		}}, nil
	case err != nil:
		return nil, err
	case r.kind != "r":
		return []Finding{
			{t.source.Table + " is not an ordinary table", "name the table itself; Herald reads no views and no partitioned tables as outboxes"},
		}, nil
	}
	var found []Finding
	for _, part := range []func(relation) []Finding{t.lackingColumns, t.lackingID, t.lackingRights, t.lackingAdditions} {
		found = append(found, part(r)...)
	}
	return found, nil
}

// lackingColumns returns the columns that are missing, have another type, or may be null.
func (t *Table) lackingColumns(r relation) []Finding {
	var found []Finding
	for _, need := range t.dialect.columns {
		column, there := r.columns[need.name]
		switch {
		case !there:
			found = append(found, Finding{
				fmt.Sprintf("there is no column %s, of type %s", need.name, need.types[0]),
				fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s, or name another dialect", t.name.Sanitize(), need.name, need.types[0]),
			})
		case !slices.Contains(need.types, column.Type):
			found = append(found, Finding{
				fmt.Sprintf("column %s is of type %s; it must be %s", need.name, column.Type, strings.Join(need.types, " or ")),
				"change its type, or name another dialect",
			})
		}
		if there && need.notNull && !column.NotNull { // the column finds pending rows
			found = append(found, Finding{
				fmt.Sprintf("column %s may be null, and such a row would never be read", need.name),
				fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", t.name.Sanitize(), need.name),
			})
		}
	}
	return found
}

func (t *Table) lackingID(r relation) []Finding {
	if slices.ContainsFunc(r.indexes, func(i tableIndex) bool { return i.identifies(t.dialect.key) }) {
		return nil
	}
	return []Finding{{
		fmt.Sprintf("column %s is not unique, and rows are marked by it", t.dialect.key),
		fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", t.name.Sanitize(), t.dialect.key),
	}}
}

// lackingRights returns the rights that our role lacks.
func (t *Table) lackingRights(r relation) []Finding {
	role := pgx.Identifier{r.role}.Sanitize()
	var found []Finding
	lacks := func(what, grant string) {
		found = append(found, Finding{fmt.Sprintf("the role %s may not %s", r.role, what), fmt.Sprintf("GRANT %s TO %s", grant, role)})
	}
	if r.readOnly {
		found = append(found, Finding{"the database is read-only, so no row can be marked", "name its primary server in `database_url_env:`"})
	}
	if !r.usable {
		lacks("use the schema "+t.name[0], "USAGE ON SCHEMA "+t.name[:1].Sanitize())
	}
	var unread, unwritten []string
	for _, need := range t.dialect.columns {
		column, there := r.columns[need.name]
		if there && !column.Selects {
			unread = append(unread, need.name)
		}
		if there && need.written && !column.Updates {
			unwritten = append(unwritten, need.name)
		}
	}
	if len(unread) > 0 {
		lacks("read "+strings.Join(unread, ", "), "SELECT ON "+t.name.Sanitize())
	}
	if columns := strings.Join(unwritten, ", "); columns != "" {
		lacks("update "+columns, fmt.Sprintf("UPDATE (%s) ON %s", columns, t.name.Sanitize()))
	}
	if t.source.Retention > 0 && !r.deletes {
		lacks("delete rows, as `retention:` wants", "DELETE ON "+t.name.Sanitize())
	}
	return found
}

func (t *Table) lackingAdditions(r relation) []Finding {
	var found []Finding
	for _, i := range t.additions(r) {
		found = append(found, Finding{
			"there is no " + i.what,
			fmt.Sprintf("run `starter source migrate %s`, or as the table's owner: %s", t.source.Name, i.Statement),
		})
	}
	return found
}
