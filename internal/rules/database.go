package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// values are a row's columns, as Postgres writes them in JSON.
type values = map[string]any

// state holds the rows that the database has.
type state struct {
	rows    map[string]stored // by key
	applied map[string]applied
}

// stored is a row of a table.
type stored struct {
	of     *table
	values values
}

// applied is a row of applied_rule.
type applied struct {
	TableName string
	Key       values
	Content   values // nil: an apply deleted the row
	AppliedAt time.Time
	Actor     string
}

// maxRows limits the rows of a table that plan and export hold.
const maxRows = 100_000

// begin makes a transaction read one snapshot, and Postgres write JSON in the way that applied_rule
// has it. Concurrent changes of a row that an apply changes make the apply fail, without locks.
var begin = []string{
	"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
	"SET LOCAL intervalstyle = 'postgres'",
	"SET LOCAL datestyle = 'ISO, MDY'",
}

// inSnapshot calls do in such a transaction.
func inSnapshot(ctx context.Context, d *db.DB, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		for _, statement := range begin {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return db.Wrap(err, "begin")
			}
		}
		return do(tx)
	})
}

// normalize returns the rows of the folder as Postgres reads their values.
func (f *Folder) normalize(ctx context.Context, tx pgx.Tx) ([]Row, error) {
	rows := slices.Clone(f.Rows)
	batch := &pgx.Batch{}
	for _, r := range rows {
		given, err := json.Marshal(r.Values)
		if err != nil {
			return nil, r.mistake(err)
		}
		batch.Queue(fmt.Sprintf("SELECT to_jsonb(jsonb_populate_record(NULL::%s, $1))", r.of.name), given)
	}
	results := tx.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()
	for i := range rows {
		var read values
		if err := results.QueryRow().Scan(&read); err != nil {
			return nil, rows[i].mistake(err)
		}
		rows[i].Values = rows[i].of.own(read)
		rows[i].key = rows[i].of.keyOf(rows[i].Values)
	}
	return rows, nil
}

// own returns the columns that files know. A column that was added after the values were written has
// its standard value.
func (t *table) own(read values) values {
	own := values{}
	for _, c := range t.columns {
		value, found := read[c.name]
		if !found {
			value = c.standard
		}
		own[c.name] = value
	}
	return own
}

// readState reads the rows that the database has. Of tables that applications write, too, it reads the rows with
// entity_id 0, the rows of the folder, and the rows that an apply wrote.
func readState(ctx context.Context, tx pgx.Tx, rows []Row) (state, error) {
	s := state{rows: map[string]stored{}, applied: map[string]applied{}}
	written, err := db.Collect(ctx, tx, "read the applied rules", db.ByName[applied](),
		"SELECT table_name, key, content, applied_at, actor FROM applied_rule")
	if err != nil {
		return s, err
	}
	keys := map[*table][]values{}
	for _, a := range written {
		i := slices.IndexFunc(tables, func(t *table) bool { return t.name == a.TableName })
		if i < 0 || a.Content == nil {
			continue
		}
		a.Content = tables[i].own(a.Content)
		s.applied[tables[i].keyOf(a.Key)] = a
		keys[tables[i]] = append(keys[tables[i]], a.Key)
	}
	for _, r := range rows {
		keys[r.of] = append(keys[r.of], r.of.keyValues(r.Values))
	}
	for _, t := range tables {
		if err := t.read(ctx, tx, keys[t], s.rows); err != nil {
			return s, err
		}
	}
	return s, nil
}

// keyValues returns the columns of the key.
func (t *table) keyValues(of values) values {
	key := values{}
	for _, column := range t.key {
		key[column] = of[column]
	}
	return key
}

func (t *table) read(ctx context.Context, tx pgx.Tx, keys []values, into map[string]stored) error {
	query := fmt.Sprintf("SELECT to_jsonb(t) FROM %s t WHERE ", t.name)
	args := []any{}
	switch {
	case t.shared:
		query += fmt.Sprintf("t.entity_id = '0' OR EXISTS (SELECT FROM jsonb_populate_recordset(NULL::%s, $1) k WHERE %s)",
			t.name, t.sameKey())
		list, err := json.Marshal(append([]values{}, keys...))
		if err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		args = append(args, list)
	case t.shipped != "":
		query += "NOT t." + t.shipped
	default:
		query += "true"
	}
	query += fmt.Sprintf(" LIMIT %d", maxRows+1)
	found, err := db.Collect(ctx, tx, "read "+t.name, pgx.RowTo[values], query, args...)
	if err == nil && len(found) > maxRows {
		err = fmt.Errorf("%s has more than %d rows: rules as files are made for fewer", t.name, maxRows)
	}
	for _, read := range found {
		own := t.own(read)
		into[t.keyOf(own)] = stored{t, own}
	}
	return err
}

// sameKey is the condition that rows t and k have the same key. Equality lets Postgres hash; only
// columns that may be null need more.
func (t *table) sameKey() string {
	var conditions []string
	for _, name := range t.key {
		operator := "IS NOT DISTINCT FROM"
		if c, _ := t.column(name); c.required {
			operator = "="
		}
		conditions = append(conditions, fmt.Sprintf("k.%s %s t.%s", name, operator, name))
	}
	return strings.Join(conditions, " AND ")
}
