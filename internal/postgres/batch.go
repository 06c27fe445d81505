package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// LaneExceeds says that more than n deliveries of a lane are still to be made. It counts no
// more than that.
func (s *Store) LaneExceeds(ctx context.Context, eventID string, lane notification.Lane, n int) (bool, error) {
	const query = `
		SELECT count(*) > $4
		FROM  (SELECT
		       FROM   notification n
		       WHERE  n.event_id = $1
		       AND    n.channel = $2
		       AND    ` + laneKind + ` = $3
		       AND    ` + undelivered + `
		       LIMIT  $4 + 1) AS first`

	var exceeds bool
	err := s.Pool.QueryRow(ctx, query, eventID, lane.Channel, kindOf(lane), n).Scan(&exceeds)
	return exceeds, wrap(err, "count the deliveries of a lane")
}

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

	return collect(ctx, s.Pool, "read the deliveries of a batch", pgx.RowTo[string], query, eventID, channel, ids.First, ids.Last, maxPage)
}
