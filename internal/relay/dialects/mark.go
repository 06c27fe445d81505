package dialects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/relay"
)

// MarkSent marks rows as sent in one statement. Rows that are already sent or deleted stay
// unchanged.
func (t *Table) MarkSent(ctx context.Context, keys []string) error {
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.sent), keys)
	return t.wrap(unmarkable(err), "mark rows as sent in")
}

// maxUnmarkable limits the consecutive unmarkable rows that MarkEachSent waits for.
const maxUnmarkable = 20

// MarkEachSent marks rows one by one, and returns an error for each row that cannot be marked. After 20
// consecutive failures, it counts the remaining rows as failures.
func (t *Table) MarkEachSent(ctx context.Context, keys []string) (failed map[string]error, err error) {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return nil, t.wrap(err, "mark rows as sent in")
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, impatient); err != nil {
		return nil, t.wrap(err, "mark rows as sent in")
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), patient) }() // the pool discards a lost connection
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
		case errors.As(why, new(*relay.UnmarkableError)):
			failed[key] = why
			sequence++
		default:
			return failed, t.wrap(why, "mark a row as sent in")
		}
	}
	return failed, nil
}

// The time-outs for a single row, and for a page.
const (
	impatient = "SELECT set_config('lock_timeout', '50ms', false), set_config('statement_timeout', '1s', false)"
	patient   = "SELECT set_config('lock_timeout', '" + lockTimeout + "', false), set_config('statement_timeout', '" + statementTimeout +
		"', false)"
)

// MarksFailed reports whether the dialect can mark failed rows.
func (t *Table) MarksFailed() bool { return t.dialect.failed != "" }

// MarkFailed marks a pending row as failed, with a message. If the dialect cannot mark failures,
// it does nothing: the row stays pending.
func (t *Table) MarkFailed(ctx context.Context, key, message string) error {
	if t.dialect.failed == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.failed), []string{key}, cut(message))
	return t.wrap(unmarkable(err), "mark a row as failed in")
}

// cut shortens a message to the length that every column holds.
func cut(message string) string {
	if runes := []rune(message); len(runes) > errorLength {
		return string(runes[:errorLength-1]) + "…"
	}
	return message
}

// Reopen makes failed rows pending again. If the dialect cannot mark failures, it does nothing:
// the rows are pending.
func (t *Table) Reopen(ctx context.Context, keys []string) error {
	if t.dialect.reopen == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.reopen), keys)
	return t.wrap(err, "reopen rows of")
}

// unmarkable separates a row's refusal, by a constraint, a trigger or a lock, from other errors.
// Its error contains no values of the row.
func unmarkable(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) < 2 {
		return err
	}
	const statementCancelled = "57014"
	switch class := refused.Code[:2]; {
	case strings.Contains("09 22 23 27 40 44 55 P0", class), refused.Code == statementCancelled:
		return &relay.UnmarkableError{Err: errors.New(strings.TrimSpace(fmt.Sprintf("SQLSTATE %s %s", refused.Code, refused.ConstraintName)))}
	default:
		return err
	}
}

// Done returns up to limit rows finished for longer than age, by the database's clock. It starts
// after a row's cursor; empty: at the first row. An empty result means that no further rows
// exist.
func (t *Table) Done(ctx context.Context, after string, age time.Duration, limit int) ([]relay.Key, error) {
	rows, _ := t.pool.Query(ctx, t.sql(t.dialect.done), append(t.cursor(after), age, limit)...) // CollectRows returns its error
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[relay.Key])
	return keys, t.wrap(err, "read the rows that are done of")
}

// DeleteDone deletes rows and returns the number deleted. Rows that are not finished, or finished
// too recently, stay.
func (t *Table) DeleteDone(ctx context.Context, keys []string, age time.Duration) (int, error) {
	gone, err := t.pool.Exec(ctx, t.sql(t.dialect.deleteDone), keys, age)
	return int(gone.RowsAffected()), t.wrap(err, "delete rows that are done from")
}

// cursor splits a row's cursor into its parts. Empty: the cursor before the first row.
func (t *Table) cursor(after string) (parts []any) {
	if after == "" {
		after = t.dialect.first
	}
	for _, part := range strings.SplitN(after, "/", strings.Count(t.dialect.first, "/")+1) { // a key may contain slashes
		parts = append(parts, part)
	}
	return parts
}
