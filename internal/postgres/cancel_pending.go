package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// chunk is how many deliveries one transaction cancels. A large event has a million.
const chunk = 1000

// cancelPending cancels the PENDING deliveries of an event whose workflow has ended or never
// starts, in chunks. It leaves out a delivery that an operator retries, since the retry has
// its own workflow. If it is interrupted, a repeat cancels the rest.
func (s *Store) cancelPending(ctx context.Context, eventID string, reason notification.EndReason) error {
	lanes, err := s.Lanes(ctx, eventID)
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		part := notification.Part{EventID: eventID, Lane: lane}
		for next := int64(1); next > 0; part.IDs.First = next {
			if _, next, err = s.cancelChunk(ctx, part, true, reason, chunk); err != nil {
				return wrap(err, "cancel deliveries")
			}
		}
	}
	return nil
}

// CancelPart cancels PENDING deliveries of a part of an event: the first ones, up to limit,
// in the order of their notification.id. It leaves out a delivery that an operator retries, and one that
// follows another delivery: the workflow that waits for the other one makes it. next is the
// first id to look at after them; 0: that was all.
func (s *Store) CancelPart(ctx context.Context, part notification.Part, reason notification.EndReason, limit int) (cancelled int, next int64, err error) {
	cancelled, next, err = s.cancelChunk(ctx, part, false, reason, limit)
	return cancelled, next, wrap(err, "cancel a part of an event")
}

// cancelChunk is [Store.CancelPart]; followers says that deliveries that follow others count.
func (s *Store) cancelChunk(ctx context.Context, part notification.Part, followers bool, reason notification.EndReason, limit int) (cancelled int, next int64, err error) {
	const lock = `
		SELECT n.id
		FROM   notification n
		WHERE  ` + inPart + `
		AND    ` + undelivered + `
		AND    n.status = (SELECT 'PENDING') -- keeps the planner to the index of the lane
		AND    ($6 OR n.escalated_from IS NULL)
		ORDER BY n.id
		LIMIT  $7
		FOR UPDATE`
	// A second statement sees a retry that committed while the first one waited for its row.
	const cancel = `
		UPDATE notification n
		SET    status     = 'CANCELLED',
		       last_error = coalesce(` + cancellation + `, $2)
		WHERE  n.id = ANY ($1)
		AND    NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)`

	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, lock, append(partArgs(part), followers, limit)...) // CollectRows returns its error
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(ids) == 0 {
			return err
		}
		if len(ids) == limit {
			next = ids[limit-1] + 1
		}
		done, err := tx.Exec(ctx, cancel, ids, reason)
		cancelled = int(done.RowsAffected())
		return err
	})
	return cancelled, next, err
}

// canceller is the id of the event that cancels the one of the row n; null: none does.
// The order has the planner use the index whatever it knows of the column, which is
// always null in most installations.
const canceller = `(SELECT y.event_id FROM event_outbox y WHERE y.cancels = n.event_id ORDER BY y.seq LIMIT 1)`

// cancellation is why nothing of the event of the row n is sent any more; null: no other
// event cancels it.
const cancellation = `'` + notification.CancelledByEvent + `' || ` + canceller

// CancelDeliveries cancels up to limit deliveries of an event that are PENDING, and
// returns how many. It leaves out those whose digest is with the provider. A delivery
// that is with the provider alone becomes SENT after all, if the provider takes it. A
// delivery stays in its digest, which finds there why it is not to be sent.
func (s *Store) CancelDeliveries(ctx context.Context, eventID, reason string, limit int) (int, error) {
	const query = `
		UPDATE notification
		SET    status     = 'CANCELLED',
		       last_error = $2
		WHERE  id = ANY (ARRAY (
			SELECT n.id
			FROM   notification n
			WHERE  n.event_id = $1
			AND    n.status = 'PENDING'
			AND    NOT (` + digestUnderWay + `)
			ORDER BY n.id
			LIMIT  $3
			FOR UPDATE))`

	done, err := s.Pool.Exec(ctx, query, eventID, reason, limit)
	return int(done.RowsAffected()), wrap(err, "cancel deliveries")
}
