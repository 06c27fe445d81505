package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// chunk is the number of deliveries that one transaction cancels. A large event has a
// million.
const chunk = 1000

// cancelPending cancels the PENDING deliveries of an event in chunks, when its workflow has
// ended or never starts. It skips a delivery that an operator retries, since the retry has
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
				return Wrap(err, "cancel deliveries")
			}
		}
	}
	return nil
}

// CancelPart cancels the first PENDING deliveries of a part of an event, up to limit, in
// the order of notification.id. It skips a delivery that an operator retries. It also skips
// a delivery that follows another one: the workflow that waits for the other one handles
// it. next is the first id to read after them; 0: that was all.
func (s *Store) CancelPart(ctx context.Context, part notification.Part, reason notification.EndReason, limit int) (cancelled int, next int64, err error) {
	cancelled, next, err = s.cancelChunk(ctx, part, false, reason, limit)
	return cancelled, next, Wrap(err, "cancel a part of an event")
}

// cancelChunk is [Store.CancelPart]. With followers, it also cancels deliveries that follow
// others.
func (s *Store) cancelChunk(ctx context.Context, part notification.Part, followers bool, reason notification.EndReason, limit int) (cancelled int, next int64, err error) {
	const lock = `
		SELECT n.id
		FROM   notification n
		WHERE  ` + inPart + `
		AND    ` + undelivered + `
		AND    n.status = (SELECT 'PENDING') -- keeps the planner on the index of the lane
		AND    ($6 OR n.escalated_from IS NULL)
		ORDER BY n.id
		LIMIT  $7
		FOR UPDATE`
	// A second statement sees a retry that committed while the first one waited for its
	// row.
	const cancel = `
		UPDATE notification n
		SET    status     = 'CANCELLED',
		       last_error = coalesce(` + withdrawal + `, $2)
		WHERE  n.id = ANY ($1)
		AND    NOT ` + retried

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

// CancelDeliveries cancels up to limit PENDING deliveries of an event, and returns their
// number. It skips deliveries whose digest is with the provider. A single delivery that is
// with the provider still becomes SENT if the provider accepts it. A cancelled delivery
// stays in its digest, which reads there why not to send it.
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
	return int(done.RowsAffected()), Wrap(err, "cancel deliveries")
}
