package dialects

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/outboxes"
)

// Snapshot is the table as it is at one moment. Who pages through it meets no row before an
// earlier one of the same writer's, although rows are committed meanwhile.
type Snapshot struct {
	table *Table
	tx    pgx.Tx
}

// Snapshot begins one. It holds a connection until the caller closes it.
func (t *Table) Snapshot(ctx context.Context) (outboxes.Snapshot, error) {
	tx, err := t.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, t.wrap(err, "read")
	}
	return &Snapshot{t, tx}, nil
}

// Close ends it.
func (s *Snapshot) Close(ctx context.Context) { _ = s.tx.Rollback(ctx) }

// maxRead bounds the payloads of rows that are read at once, in bytes, one row apart.
const maxRead = 16 << 20

// Page returns pending rows behind a cursor, in the order of the dialect: up to limit, and
// as many as memory is to hold. next is the cursor behind them; empty: there are no more.
func (s *Snapshot) Page(ctx context.Context, after string, limit int) (found []outboxes.Row, next string, err error) {
	rows, err := s.tx.Query(ctx, s.table.sql(s.table.dialect.pending), append(s.table.cursor(after), limit)...)
	if err != nil {
		return nil, "", s.table.wrap(err, "read the pending rows of")
	}
	defer rows.Close() // what is left is passed over, a row at a time
	found = make([]outboxes.Row, 0, limit)
	read := 0
	for read < maxRead && rows.Next() {
		row, err := pgx.RowToStructByName[outboxes.Row](rows)
		if err != nil {
			return nil, "", s.table.wrap(err, "read the pending rows of")
		}
		found, read = append(found, row), read+len(row.Payload)
	}
	if len(found) == limit || read >= maxRead {
		next = found[len(found)-1].Cursor
	}
	return found, next, s.table.wrap(rows.Err(), "read the pending rows of")
}

// StillPending returns the keys of those rows that are pending.
func (t *Table) StillPending(ctx context.Context, keys []string) ([]string, error) {
	rows, _ := t.pool.Query(ctx, t.sql(t.dialect.still), keys) // CollectRows returns its error
	pending, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return pending, t.wrap(err, "read the pending rows of")
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
