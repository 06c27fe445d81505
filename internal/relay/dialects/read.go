package dialects

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/relay"
)

// Snapshot is the table at one moment. Its pages show the rows of one writer in order, even while
// rows are committed.
type Snapshot struct {
	table *Table
	tx    pgx.Tx
}

// Snapshot begins a snapshot, which holds a connection until Close.
func (t *Table) Snapshot(ctx context.Context) (relay.Snapshot, error) {
	tx, err := t.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, t.wrap(err, "read")
	}
	return &Snapshot{t, tx}, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close(ctx context.Context) { _ = s.tx.Rollback(ctx) }

// maxRead limits the payloads of one page, in bytes; the last row may exceed it.
const maxRead = 16 << 20

// Page returns pending rows after a cursor, in the dialect's order: up to limit, and within
// maxRead. next is the cursor after them; empty: no more rows.
func (s *Snapshot) Page(ctx context.Context, after string, limit int) (found []relay.Row, next string, err error) {
	rows, err := s.tx.Query(ctx, s.table.sql(s.table.dialect.pending), append(s.table.cursor(after), limit)...)
	if err != nil {
		return nil, "", s.table.wrap(err, "read the pending rows of")
	}
	defer rows.Close() // reads and drops the remaining rows
	found = make([]relay.Row, 0, limit)
	read := 0
	for read < maxRead && rows.Next() {
		row, err := pgx.RowToStructByName[relay.Row](rows)
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

// StillPending returns the keys whose rows are pending.
func (t *Table) StillPending(ctx context.Context, keys []string) ([]string, error) {
	rows, _ := t.pool.Query(ctx, t.sql(t.dialect.still), keys) // CollectRows returns its error
	pending, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return pending, t.wrap(err, "read the pending rows of")
}

// mostCounted limits the cost of one count for the database.
const mostCounted = 100_000

// stateQuery limits the age, because a duration cannot hold 300 years.
const stateQuery = "SELECT pending, failed, least(oldest, '100 years') FROM (%s) AS state"

// State reads the table's backlog. If the dialect cannot mark failures, the rows with the keys failed do
// not count as pending, and Failed is zero.
func (t *Table) State(ctx context.Context, failed []string) (notification.OutboxState, error) {
	args := []any{mostCounted}
	if !t.MarksFailed() {
		args = append(args, append([]string{}, failed...)) // no keys are not NULL
	}
	var state notification.OutboxState
	err := t.pool.QueryRow(ctx, t.sql(fmt.Sprintf(stateQuery, t.dialect.state)), args...).Scan(&state.Pending, &state.Failed,
		&state.OldestPending)
	return state, t.wrap(err, "count the rows of")
}
