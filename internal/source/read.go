package source

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Pending returns up to limit rows that are pending, in the order of the dialect: those
// after a row's cursor, or the first where it is empty. It reads no payloads, since most
// rows of a backlog are known already.
func (t *Table) Pending(ctx context.Context, after string, limit int) ([]notification.SourceKey, error) {
	return t.pending(ctx, t.pool, after, limit)
}

// reader is the pool, or a transaction.
type reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (t *Table) pending(ctx context.Context, from reader, after string, limit int) ([]notification.SourceKey, error) {
	rows, _ := from.Query(ctx, t.sql(t.dialect.pending), append(t.cursor(after), limit)...) // CollectRows returns its error
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[notification.SourceKey])
	return keys, t.wrap(err, "read the pending rows of")
}

// Rows returns the rows that have these keys, in the order of the dialect. It leaves out
// those that are gone.
func (t *Table) Rows(ctx context.Context, keys []string) ([]notification.SourceRow, error) {
	rows, _ := t.pool.Query(ctx, t.sql(t.dialect.rows), keys) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[notification.SourceRow])
	return found, t.wrap(err, "read rows of")
}

// mostCounted bounds what one look at the table costs its database.
const mostCounted = 100_000

// stateQuery bounds the age: a duration holds no 300 years, and a clock that is not set
// writes the year 1.
const stateQuery = "SELECT pending, failed, least(oldest, '100 years') FROM (%s) AS state"

// State reads how far behind the table is. Failed is zero where the dialect has no word
// for it.
func (t *Table) State(ctx context.Context) (notification.OutboxState, error) {
	var state notification.OutboxState
	err := t.pool.QueryRow(ctx, t.sql(fmt.Sprintf(stateQuery, t.dialect.state)), mostCounted).Scan(&state.Pending, &state.Failed, &state.OldestPending)
	return state, t.wrap(err, "count the rows of")
}
