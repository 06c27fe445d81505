package cancel

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Chunk is the number of deliveries that one transaction cancels. A large event has a
// million.
const Chunk = 1000

// Cancellation selects deliveries to cancel.
type Cancellation struct {
	Which  string // a condition of deliveries n
	Args   []any  // of which
	Reason string // unless another event withdraws the delivery
	Limit  int
	Own    bool // the workflow of the delivery ends it
	Tell   bool // a worker ends the workflows
}

const (
	// MayCancel reports whether the delivery n can be cancelled: it waits, or an attempt is in flight. If
	// the provider accepts the message, the delivery still becomes SENT. A delivery that an operator
	// retries has a separate workflow, so only that workflow cancels it. A subquery hides the status
	// from the planner, so it keeps the index of the selection.
	MayCancel = `n.status = (SELECT 'PENDING') AND NOT ` + db.Retried
	MayEnd    = `(n.status = 'PENDING' OR n.status = 'FAILED' AND NOT n.receipt_failed AND NOT ` + db.Erased + `)`
)

// Cancel cancels the first deliveries of a selection, in the order of notification.id. A cancelled
// delivery stays in its digest, which reads there why not to send it. next is the first id to read after
// them; 0: that was all.
func (s Store) Cancel(ctx context.Context, c Cancellation) (cancelled int, next int64, err error) {
	lock := fmt.Sprintf(`SELECT n.id FROM notification n WHERE %s AND %s ORDER BY n.id LIMIT %d FOR UPDATE`, c.Which, c.may(), c.Limit)

	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		ids, err := db.Collect(ctx, tx, "lock deliveries", pgx.RowTo[int64], lock, c.Args...)
		if len(ids) > 0 && len(ids) == c.Limit {
			next = ids[c.Limit-1] + 1
		}
		if err == nil && len(ids) > 0 {
			cancelled, err = c.Locked(ctx, tx, ids)
		}
		return err
	})
	return cancelled, next, db.Wrap(err, "cancel deliveries")
}

// Locked cancels deliveries that the transaction has locked. A second statement sees a retry that
// committed while the first one waited for its row.
func (c Cancellation) Locked(ctx context.Context, tx pgx.Tx, ids []int64) (cancelled int, err error) {
	query := `
		WITH cancelled AS (
			UPDATE notification n
			SET    status     = 'CANCELLED',
			       last_error = coalesce(` + db.Withdrawal + `, $2)
			WHERE  n.id = ANY ($1)
			AND    ` + c.may() + `
			RETURNING n.delivery_id
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'REPLACED'
			FROM   cancelled
			WHERE  $3
			RETURNING pg_notify('delivery_follow_up', '')
		)
		SELECT (SELECT count(*) FROM cancelled), (SELECT count(*) FROM told)`

	err = tx.QueryRow(ctx, query, ids, c.Reason, c.Tell).Scan(&cancelled, nil)
	return cancelled, err
}

func (c Cancellation) may() string {
	if c.Own {
		return MayEnd
	}
	return MayCancel
}
