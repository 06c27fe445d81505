package dialects

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// relation is a table's entry in the database catalog.
type relation struct {
	oid      uint32
	kind     string // r: a table
	role     string // our role
	usable   bool   // we may use the schema
	readOnly bool   // the database is a standby, or set to read-only
	deletes  bool   // we may delete rows
	columns  map[string]tableColumn
	indexes  []tableIndex
	triggers []string // functions that triggers of the schema call; empty if the dialect needs none
}

type tableColumn struct {
	Name             string
	Type             string // without the length
	NotNull          bool
	Selects, Updates bool // our rights
}

type tableIndex struct {
	Name      string
	Valid     bool
	Unique    bool
	Columns   []string // its keys; empty for an expression
	Condition string   // of a partial index, without brackets and casts; empty: the index has all rows
}

// errNoTable means that a database has no such table.
var errNoTable = errors.New("there is no such table")

// relation reads the catalog. If the table does not exist, the error is errNoTable.
func (t *Table) relation(ctx context.Context) (relation, error) {
	const query = `
		SELECT c.oid,
		       c.relkind::text,
		       current_user::text,
		       has_schema_privilege(n.oid, 'USAGE'),
		       current_setting('transaction_read_only')::boolean,
		       has_table_privilege(c.oid, 'DELETE')
		FROM   pg_class c
		JOIN   pg_namespace n ON n.oid = c.relnamespace
		WHERE  n.nspname = coalesce($1, current_schema())
		AND    c.relname = $2`

	var schema *string // nil: the first of the search path
	if len(t.name) > 1 {
		schema = &t.name[0]
	}
	var r relation
	err := t.pool.QueryRow(ctx, query, schema, t.name[len(t.name)-1]).Scan(&r.oid, &r.kind, &r.role, &r.usable, &r.readOnly, &r.deletes)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoTable
	}
	if err == nil {
		err = t.readColumns(ctx, &r)
	}
	if err == nil {
		r.indexes, err = t.readIndexes(ctx, r.oid)
	}
	if err == nil && len(t.dialect.triggers) > 0 {
		r.triggers, err = t.readTriggers(ctx, r.oid)
	}
	return r, t.wrap(err, "look at")
}

func (t *Table) readColumns(ctx context.Context, r *relation) error {
	const query = `
		SELECT attname::text AS name,
		       format_type(atttypid, NULL) AS type,
		       attnotnull AS not_null,
		       has_column_privilege(attrelid, attnum, 'SELECT') AS selects,
		       has_column_privilege(attrelid, attnum, 'UPDATE') AS updates
		FROM   pg_attribute
		WHERE  attrelid = $1
		AND    attnum > 0
		AND    NOT attisdropped`

	rows, _ := t.pool.Query(ctx, query, r.oid) // CollectRows returns its error
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByName[tableColumn])
	r.columns = map[string]tableColumn{}
	for _, c := range columns {
		r.columns[c.Name] = c
	}
	return err
}

func (t *Table) readIndexes(ctx context.Context, oid uint32) ([]tableIndex, error) {
	const query = `
		SELECT c.relname::text AS name,
		       i.indisvalid AS valid,
		       i.indisunique AS unique,
		       ARRAY(SELECT coalesce(a.attname::text, '')
		             FROM   generate_series(0, i.indnkeyatts - 1) AS k
		             LEFT   JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
		             ORDER  BY k) AS columns,
		       coalesce(pg_get_expr(i.indpred, i.indrelid), '') AS condition
		FROM   pg_index i
		JOIN   pg_class c ON c.oid = i.indexrelid
		JOIN   pg_am m ON m.oid = c.relam
		WHERE  i.indrelid = $1
		AND    m.amname = 'btree'`

	rows, _ := t.pool.Query(ctx, query, oid) // CollectRows returns its error
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByName[tableIndex])
	for i := range indexes {
		indexes[i].Condition = bare.Replace(indexes[i].Condition)
	}
	return indexes, err
}

func (t *Table) readTriggers(ctx context.Context, oid uint32) ([]string, error) {
	const query = `
		SELECT p.proname::text
		FROM   pg_trigger t
		JOIN   pg_proc p ON p.oid = t.tgfoid
		WHERE  t.tgenabled <> 'D'
		AND    p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = $1)`

	rows, _ := t.pool.Query(ctx, query, oid) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

var bare = strings.NewReplacer("(", "", ")", "", "::text", "", "::character varying", "")

// serves reports whether a table's index meets a need.
func (i tableIndex) serves(need neededIndex) bool {
	switch {
	case !i.Valid:
		return false
	case i.Condition == "":
		return len(i.Columns) >= need.leading && slices.Equal(i.Columns[:need.leading], need.columns[:need.leading])
	default:
		return need.partialOn != "" && i.Columns[0] == need.partialOn && slices.Contains(need.pending, i.Condition)
	}
}

// identifies reports whether an index keeps a column unique.
func (i tableIndex) identifies(column string) bool {
	return i.Valid && i.Unique && i.Condition == "" && slices.Equal(i.Columns, []string{column})
}
