package postgres

import (
	"context"

	"herald/internal/notification"
)

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
