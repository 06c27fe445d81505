package source

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Snapshot is the table as it is at one moment. Who pages through it meets no row before an
// earlier one of the same writer's, although rows are committed meanwhile.
type Snapshot struct {
	table *Table
	tx    pgx.Tx
}

// Snapshot begins one. It holds a connection until the caller closes it.
func (t *Table) Snapshot(ctx context.Context) (*Snapshot, error) {
	tx, err := t.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, t.wrap(err, "read")
	}
	return &Snapshot{t, tx}, nil
}

// Close ends it.
func (s *Snapshot) Close(ctx context.Context) { _ = s.tx.Rollback(ctx) }

// Pending is [Table.Pending] of that moment.
func (s *Snapshot) Pending(ctx context.Context, after string, limit int) ([]notification.SourceKey, error) {
	return s.table.pending(ctx, s.tx, after, limit)
}

// maxRead bounds the payloads of rows that are read at once, in bytes, one row apart.
const maxRead = 16 << 20

// Rows is [Table.Rows] of that moment: the first of them, as many as memory is to hold.
func (s *Snapshot) Rows(ctx context.Context, keys []string) ([]notification.SourceRow, error) {
	rows, err := s.tx.Query(ctx, s.table.sql(s.table.dialect.rows), keys)
	if err != nil {
		return nil, s.table.wrap(err, "read rows of")
	}
	defer rows.Close() // what is left is passed over, a row at a time
	found := make([]notification.SourceRow, 0, len(keys))
	for read := 0; read < maxRead && rows.Next(); {
		row, err := pgx.RowToStructByName[notification.SourceRow](rows)
		if err != nil {
			return nil, s.table.wrap(err, "read rows of")
		}
		found, read = append(found, row), read+len(row.Payload)
	}
	return found, s.table.wrap(rows.Err(), "read rows of")
}
