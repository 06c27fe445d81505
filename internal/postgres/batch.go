package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// BatchDeliveries reads which deliveries of an event over a channel, whose notification.id
// is in ids, are to be sent at once and were never attempted: those of high priority first.
func (s *Store) BatchDeliveries(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) ([]string, error) {
	const query = `
		SELECT n.delivery_id
		FROM   notification n
		WHERE  n.event_id = $1
		AND    n.channel = $2
		AND    ` + laneKind + ` = 'NOW'
		AND    ` + undelivered + `
		AND    n.status = 'PENDING'
		AND    n.attempt_count = 0
		AND    n.next_attempt_at IS NULL -- else it has left its batch
		AND    n.id BETWEEN $3 AND $4
		ORDER BY CASE n.priority WHEN 'HIGH' THEN 1 WHEN 'NORMAL' THEN 2 ELSE 3 END, n.id
		LIMIT  $5`

	return collect(ctx, s.Pool, "read the deliveries of a batch", pgx.RowTo[string], query, eventID, channel, ids.First, ids.Last, maxBatch)
}

// maxBatch bounds a batch whose range has more rows than its lane found. The lane finds the
// others at its end.
const maxBatch = 4000

// BatchLeft reports whether deliveries of a batch are PENDING. It reads no further than the
// range of the batch.
func (s *Store) BatchLeft(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) (bool, error) {
	const query = `
		SELECT EXISTS (
		    SELECT FROM notification n
		    WHERE  ` + inPart + `
		    AND    ` + undelivered + `
		    AND    n.status = (SELECT 'PENDING') -- keeps the planner to the index of the lane
		    OFFSET 0)`

	var left bool
	part := notification.Part{EventID: eventID, Lane: notification.Lane{Channel: channel}, IDs: ids}
	err := s.Pool.QueryRow(ctx, query, partArgs(part)...).Scan(&left)
	return left, wrap(err, "read the rest of a batch")
}

// ReopenFailed makes the FAILED deliveries of a part PENDING, except those that failed by a
// receipt.
func (s *Store) ReopenFailed(ctx context.Context, part notification.Part) error {
	const query = `
		UPDATE notification n
		SET    status       = 'PENDING',
		       failed_child = NULL
		WHERE  n.id = ANY (ARRAY (
			SELECT n.id
			FROM   notification n
			WHERE  ` + failedInPart + `
			ORDER BY n.id
			FOR UPDATE))`

	_, err := s.Pool.Exec(ctx, query, partArgs(part)...)
	return wrap(err, "reopen failed deliveries")
}

// failedInPart holds for the deliveries n of a part that failed, and not by a receipt.
const failedInPart = inPart + `
			AND    ` + undelivered + `
			AND    n.status = (SELECT 'FAILED') -- keeps the planner to the index of the lane
			AND    NOT n.receipt_failed`
