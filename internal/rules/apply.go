package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
)

// ErrApplying means that another apply runs.
var ErrApplying = errors.New("another apply of rules is running")

// ErrChanged means that the tables changed after the plan was made.
var ErrChanged = errors.New("the rules in the database changed meanwhile")

// DriftError means that an apply would overwrite what somebody changed by hand.
type DriftError struct{ Changes []Change }

func (e *DriftError) Error() string {
	var names []string
	for _, c := range e.Changes {
		names = append(names, c.Name())
	}
	return "somebody changed rules by hand since the last apply: " + strings.Join(names, ", ")
}

// Order is the order of an operator to apply rules.
type Order struct {
	Actor     string
	Reason    string
	Commit    string // of the folder; empty: unknown
	Overwrite bool   // overwrite rows that somebody changed by hand
}

// Apply makes the changes of a plan in one transaction. It calls confirm before it commits; an error
// of confirm undoes everything.
func (f *Folder) Apply(ctx context.Context, d *db.DB, plan Plan, order Order, confirm func(ctx context.Context) error) error {
	if drifted := plan.Drifted(); len(drifted) > 0 && !order.Overwrite {
		return &DriftError{drifted}
	}
	err := inSnapshot(ctx, d, func(tx pgx.Tx) error {
		var alone bool
		const lock = "SELECT pg_try_advisory_xact_lock(hashtext('herald'), hashtext(current_schema() || '.applied_rule'))"
		if err := tx.QueryRow(ctx, lock).Scan(&alone); err != nil {
			return db.Wrap(err, "lock the rules")
		}
		if !alone {
			return ErrApplying
		}
		now, err := f.plan(ctx, tx, plan.Prune)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(now, plan) {
			return ErrChanged
		}
		if err := plan.write(ctx, tx); err != nil {
			return err
		}
		if err := plan.remember(ctx, tx, order); err != nil {
			return err
		}
		return confirm(ctx)
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == serializationFailure {
		return ErrChanged
	}
	return err
}

// serializationFailure is the code of a row that another transaction changed after the snapshot.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const serializationFailure = "40001"

// write deletes rows first, in the reverse order of the tables. Then it inserts and changes rows.
func (p Plan) write(ctx context.Context, tx pgx.Tx) error {
	var gone, written []Row
	for _, c := range p.Changes {
		if c.Action == Delete || c.Action == Modify && c.of.replaced {
			r := c.row
			r.Values = c.Before
			gone = append(gone, r)
		}
		if c.Action != Delete {
			written = append(written, c.row)
		}
	}
	slices.SortStableFunc(gone, func(a, b Row) int { return slices.Index(tables, b.of) - slices.Index(tables, a.of) })
	batch := &pgx.Batch{}
	for _, r := range gone {
		key, err := json.Marshal(r.of.keyValues(r.Values))
		if err != nil {
			return r.mistake(err)
		}
		batch.Queue(r.of.remove(), key)
	}
	if err := sendRows(ctx, tx, batch, gone); err != nil {
		return err
	}
	return upsert(ctx, tx, written)
}

// remove returns the statement that deletes a row, whose key is given as JSON.
func (t *table) remove() string {
	return fmt.Sprintf(`
		DELETE FROM %s t
		USING  jsonb_populate_record(NULL::%s, $1) k
		WHERE  %s`, t.name, t.name, t.sameKey())
}

// remember records what was applied. A row that was equal before keeps the record of the apply that
// wrote it, if there is one.
func (p Plan) remember(ctx context.Context, tx pgx.Tx, order Order) error {
	type record struct {
		TableName string `json:"table_name"`
		Key       values `json:"key"`
		EventType any    `json:"event_type"`
		Content   any    `json:"content"`
		Before    any    `json:"before"`
	}
	var records []record
	for _, c := range p.Changes {
		records = append(records, record{c.Table, c.Key, nullable(c.EventType), mapOrNull(c.After), mapOrNull(c.Before)})
	}
	for _, r := range p.adopted {
		records = append(records, record{r.Table, r.of.keyValues(r.Values), nullable(eventTypeOf(r.of, r.Values)), r.Values, r.Values})
	}
	if len(records) == 0 {
		return nil
	}
	list, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("record what was applied: %w", err)
	}
	const query = `
		INSERT INTO applied_rule (table_name, key, event_type, content, before, actor, reason, commit_id)
		SELECT table_name, key, event_type, content, before, @actor, @reason, nullif(@commit, '')
		FROM   jsonb_to_recordset(@records) AS r (table_name text, key jsonb, event_type text, content jsonb, before jsonb)
		ON CONFLICT (table_name, key) DO UPDATE
		SET    event_type = excluded.event_type,
		       content    = excluded.content,
		       before     = excluded.before,
		       applied_at = excluded.applied_at,
		       actor      = excluded.actor,
		       reason     = excluded.reason,
		       commit_id  = excluded.commit_id`
	_, err = tx.Exec(ctx, query,
		pgx.NamedArgs{"records": list, "actor": order.Actor, "reason": order.Reason, "commit": order.Commit})
	return db.Wrap(err, "record what was applied")
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// mapOrNull returns nil without a type for a missing row.
func mapOrNull(v values) any {
	if v == nil {
		return nil
	}
	return v
}
