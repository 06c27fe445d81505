package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// chunk is the number of deliveries that one transaction cancels. A large event has a
// million.
const chunk = 1000

// cancellation selects deliveries to cancel.
type cancellation struct {
	which  string // a condition of deliveries n
	args   []any  // of which
	reason string // unless another event withdraws the delivery
	limit  int
	own    bool // the workflow of the delivery ends it
	tell   bool // a worker ends the workflows
}

const (
	// mayCancel reports whether the delivery n can be cancelled: it waits, or an attempt is in flight. If
	// the provider accepts the message, the delivery still becomes SENT. A delivery that an operator
	// retries has a separate workflow, so only that workflow cancels it. A subquery hides the status
	// from the planner, so it keeps the index of the selection.
	mayCancel = `n.status = (SELECT 'PENDING') AND NOT ` + retried
	mayEnd    = `(n.status = 'PENDING' OR n.status = 'FAILED' AND NOT n.receipt_failed AND NOT ` + Erased + `)`
)

// cancel cancels the first deliveries of a selection, in the order of notification.id. A cancelled
// delivery stays in its digest, which reads there why not to send it. next is the first id to read after
// them; 0: that was all.
func (s *Store) cancel(ctx context.Context, c cancellation) (cancelled int, next int64, err error) {
	lock := fmt.Sprintf(`SELECT n.id FROM notification n WHERE %s AND %s ORDER BY n.id LIMIT %d FOR UPDATE`, c.which, c.may(), c.limit)

	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		ids, err := Collect(ctx, tx, "lock deliveries", pgx.RowTo[int64], lock, c.args...)
		if len(ids) > 0 && len(ids) == c.limit {
			next = ids[c.limit-1] + 1
		}
		if err == nil && len(ids) > 0 {
			cancelled, err = c.locked(ctx, tx, ids)
		}
		return err
	})
	return cancelled, next, Wrap(err, "cancel deliveries")
}

// locked cancels deliveries that the transaction has locked. A second statement sees a retry that
// committed while the first one waited for its row.
func (c cancellation) locked(ctx context.Context, tx pgx.Tx, ids []int64) (cancelled int, err error) {
	query := `
		WITH cancelled AS (
			UPDATE notification n
			SET    status     = 'CANCELLED',
			       last_error = coalesce(` + withdrawal + `, $2)
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

	err = tx.QueryRow(ctx, query, ids, c.reason, c.tell).Scan(&cancelled, nil)
	return cancelled, err
}

func (c cancellation) may() string {
	if c.own {
		return mayEnd
	}
	return mayCancel
}

// cancelPending cancels the waiting deliveries of an event, when its workflow has ended or never
// starts. If it is interrupted, a repeat cancels the rest.
func (s *Store) cancelPending(ctx context.Context, eventID string, reason notification.EndReason) error {
	lanes, err := s.Lanes(ctx, eventID)
	for _, lane := range lanes {
		part := notification.Part{EventID: eventID, Lane: lane}
		for next := int64(1); err == nil && next > 0; part.IDs.First = next {
			_, next, err = s.CancelPart(ctx, part, reason, chunk)
		}
	}
	return err
}

// CancelPart cancels the first waiting deliveries of a part of an event, up to limit; see
// [Store.cancel].
func (s *Store) CancelPart(ctx context.Context, part notification.Part, reason notification.EndReason, limit int) (cancelled int, next int64, err error) {
	return s.cancel(ctx, cancellation{which: inPart + " AND " + undelivered, args: partArgs(part), reason: string(reason), limit: limit})
}

// canceller is the id of the event that cancels the event of the row n; null: none does. n has the
// type of its event: who may write only some types cancels only these.
// The order makes the planner use the index, whatever its statistics say: the column is
// always null in most installations.
const canceller = `(SELECT y.event_id FROM event_outbox y WHERE y.cancels = n.event_id AND (y.cancels_types IS NULL OR n.event_type = ANY (y.cancels_types)) ORDER BY y.seq LIMIT 1)`

// withdrawal is the reason to send nothing more of the row n: another event cancels its event, or
// has replaced it. Null: neither.
const withdrawal = `coalesce('` + notification.CancelledByEvent + `' || ` + canceller + `, '` + notification.ReplacedByEvent + `' || n.replaced_by)`

// MayCancel reports whether the event `by` may cancel an event now. With cancels_types it cancels
// only a known event of one of these types. A later event finds its [canceller] when it is planned.
func (s *Store) MayCancel(ctx context.Context, by, eventID string) (bool, error) {
	const query = `
		SELECT coalesce((SELECT y.cancels_types IS NULL
		                        OR coalesce((SELECT o.event_type FROM event_outbox o WHERE o.event_id = $2),
		                                    (SELECT n.event_type FROM notification n WHERE n.event_id = $2 LIMIT 1)) = ANY (y.cancels_types)
		                 FROM   event_outbox y
		                 WHERE  y.event_id = $1), false)`

	return One(ctx, s.Pool, "read the types that an event cancels", pgx.RowTo[bool], query, by, eventID)
}
