package dialects

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/outboxes"
)

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
