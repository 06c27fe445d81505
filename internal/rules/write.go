package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Write inserts the rows of the folder, and changes rows that differ. A row that the database refuses
// is a [Mistake].
func (f *Folder) Write(ctx context.Context, tx pgx.Tx) error {
	return upsert(ctx, tx, f.Rows)
}

// upsert writes rows in the order of the tables. Each row is a statement, so that an error names its row.
func upsert(ctx context.Context, tx pgx.Tx, rows []Row) error {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return slices.Index(tables, a.of) - slices.Index(tables, b.of) })
	batch := &pgx.Batch{}
	for _, r := range rows {
		values, err := json.Marshal(r.Values)
		if err != nil {
			return r.mistake(err)
		}
		batch.Queue(r.of.upsert(), values)
	}
	return sendRows(ctx, tx, batch, rows)
}

// sendRows sends a batch that has a statement for each row.
func sendRows(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, rows []Row) error {
	results := tx.SendBatch(ctx, batch)
	for _, r := range rows {
		if _, err := results.Exec(); err != nil {
			_ = results.Close()
			return r.mistake(err)
		}
	}
	return db.Wrap(results.Close(), "write the rules")
}

// mistake returns the error of a row's statement, with the place of the row if the row is wrong.
func (r Row) mistake(err error) error {
	problem, refused := Refusal(err)
	if !refused {
		return db.Wrap(err, "write the rules")
	}
	if r.File == "" {
		return fmt.Errorf("delete %s: %s", r.of.keyText(r.Values), problem)
	}
	return Mistake{File: r.File, Line: r.Line, Problem: problem}
}

// upsert returns the statement that writes a row, given as JSON.
func (t *table) upsert() string {
	set, before, after := []string{}, []string{}, []string{}
	for _, c := range t.columns {
		if !slices.Contains(t.key, c.name) {
			set = append(set, fmt.Sprintf("%s = excluded.%s", c.name, c.name))
			before, after = append(before, t.name+"."+c.name), append(after, "excluded."+c.name)
		}
	}
	action := "NOTHING"
	if len(set) > 0 {
		action = fmt.Sprintf("UPDATE SET %s WHERE (%s) IS DISTINCT FROM (%s)",
			strings.Join(set, ", "), strings.Join(before, ", "), strings.Join(after, ", "))
	}
	return fmt.Sprintf(`
		INSERT INTO %s (%s)
		SELECT %s
		FROM   jsonb_populate_record(NULL::%s, $1)
		ON CONFLICT (%s) DO %s`, t.name, t.names(), t.names(), t.name, strings.Join(t.key, ", "), action)
}

// names returns the columns as a list for SQL.
func (t *table) names() string {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}
