package dialects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/outboxes"
)

// MarkSent marks rows as sent, by one statement. Those that are sent already, or gone, stay
// as they are.
func (t *Table) MarkSent(ctx context.Context, keys []string) error {
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.sent), keys)
	return t.wrap(unmarkable(err), "mark rows as sent in")
}

// maxUnmarkable bounds the rows in sequence that cannot be marked, and are waited for.
const maxUnmarkable = 20

// MarkEachSent marks rows one by one, and returns why some of them cannot be marked. Behind
// 20 such rows in sequence, the rest counts as such rows.
func (t *Table) MarkEachSent(ctx context.Context, keys []string) (failed map[string]error, err error) {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return nil, t.wrap(err, "mark rows as sent in")
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, impatient); err != nil {
		return nil, t.wrap(err, "mark rows as sent in")
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), patient) }() // a connection that is lost goes back to no pool
	failed = map[string]error{}
	sequence := 0
	var why error
	for _, key := range keys {
		if sequence < maxUnmarkable {
			_, why = conn.Exec(ctx, t.sql(t.dialect.sent), []string{key})
			why = unmarkable(why)
		}
		switch {
		case why == nil:
			sequence = 0
		case errors.As(why, new(*outboxes.UnmarkableError)):
			failed[key] = why
			sequence++
		default:
			return failed, t.wrap(why, "mark a row as sent in")
		}
	}
	return failed, nil
}

// What a single row may wait for, and what a page may.
const (
	impatient = "SELECT set_config('lock_timeout', '50ms', false), set_config('statement_timeout', '1s', false)"
	patient   = "SELECT set_config('lock_timeout', '" + lockTimeout + "', false), set_config('statement_timeout', '" + statementTimeout + "', false)"
)

// MarksFailed reports whether the dialect has a word for failed rows.
func (t *Table) MarksFailed() bool { return t.dialect.failed != "" }

// MarkFailed marks a pending row as failed, and says why. It does nothing where the dialect
// has no word for that: the row stays pending.
func (t *Table) MarkFailed(ctx context.Context, key, message string) error {
	if t.dialect.failed == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.failed), []string{key}, cut(message))
	return t.wrap(unmarkable(err), "mark a row as failed in")
}

// cut keeps as much of a message as the column is sure to hold.
func cut(message string) string {
	if runes := []rune(message); len(runes) > errorLength {
		return string(runes[:errorLength-1]) + "…"
	}
	return message
}

// Reopen makes failed rows pending again. It does nothing where the dialect has no word
// for failed ones: they are pending.
func (t *Table) Reopen(ctx context.Context, keys []string) error {
	if t.dialect.reopen == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.reopen), keys)
	return t.wrap(err, "reopen rows of")
}

// unmarkable tells the refusal of a row, by a constraint, a trigger or a lock, from other
// errors. It quotes no value.
func unmarkable(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) < 2 {
		return err
	}
	const statementCancelled = "57014"
	switch class := refused.Code[:2]; {
	case strings.Contains("09 22 23 27 40 44 55 P0", class), refused.Code == statementCancelled:
		return &outboxes.UnmarkableError{Err: errors.New(strings.TrimSpace(fmt.Sprintf("SQLSTATE %s %s", refused.Code, refused.ConstraintName)))}
	default:
		return err
	}
}

// Done returns up to limit rows that have been done for longer than an age, by the clock
// of their database: those after a row's cursor, or the first where it is empty. Where
// there are none, there are none further on.
func (t *Table) Done(ctx context.Context, after string, age time.Duration, limit int) ([]outboxes.Key, error) {
	rows, _ := t.pool.Query(ctx, t.sql(t.dialect.done), append(t.cursor(after), age, limit)...) // CollectRows returns its error
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[outboxes.Key])
	return keys, t.wrap(err, "read the rows that are done of")
}

// DeleteDone deletes rows, and returns how many went. Those that are not done any more, or
// not for so long, stay.
func (t *Table) DeleteDone(ctx context.Context, keys []string, age time.Duration) (int, error) {
	gone, err := t.pool.Exec(ctx, t.sql(t.dialect.deleteDone), keys, age)
	return int(gone.RowsAffected()), t.wrap(err, "delete rows that are done from")
}

// cursor has the parts of a row's cursor, or of the one before all rows.
func (t *Table) cursor(after string) (parts []any) {
	if after == "" {
		after = t.dialect.first
	}
	for _, part := range strings.SplitN(after, "/", strings.Count(t.dialect.first, "/")+1) { // a key may have slashes, too
		parts = append(parts, part)
	}
	return parts
}
