package attempt

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

const (
	// later reports whether the delivery n waits a minute or longer. The workflow of a CANCELLED
	// delivery ends at once.
	later = `n.status <> 'CANCELLED' AND (n.strategy = 'AGGREGATE'
		OR coalesce(greatest(n.send_after, n.next_attempt_at) >= now() + interval '1 minute', false))`
	// SelectDeliveries reads deliveries n for [Store.ReadDeliveries].
	SelectDeliveries = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority,
		       ` + later + ` AS later, ` + db.EscalationFacts + ` AS escalation
		FROM   notification n
		` + db.EscalationOf
)

func kindOf(lane notification.Lane) string {
	if lane.Waiting {
		return "LATER"
	}
	return "NOW"
}

// Undelivered reads up to limit deliveries of an event that are still to be made. It reads
// in index order, so it reads no further in this event or in others. The planner cannot see
// which event it is, and keeps its plan.
func (s Store) Undelivered(ctx context.Context, eventID string, limit int) ([]notification.Delivery, error) {
	const query = SelectDeliveries + `
		WHERE  n.id = ANY (ARRAY (
			SELECT n.id
			FROM   notification n
			WHERE  n.event_id = (SELECT $1::text)
			AND    ` + db.Undelivered + `
			ORDER BY n.channel, ` + db.LaneKind + `, n.id
			LIMIT  $2))
		ORDER BY n.id`

	deliveries, _, err := s.ReadDeliveries(ctx, limit, query, eventID, limit)
	return deliveries, err
}

// LaneDeliveries reads the first deliveries of a part that are still to be made, up to
// limit, with one status; empty: any. next is the first notification.id to read after them;
// 0: that was all.
func (s Store) LaneDeliveries(
	ctx context.Context, part notification.Part, only notification.Status, limit int,
) (deliveries []notification.Delivery, next int64, err error) {
	const query = SelectDeliveries + `
		WHERE  ` + InPart + `
		AND    ` + db.Undelivered + `
		AND    $6 IN ('', n.status)
		ORDER BY n.id
		LIMIT  $7`

	return s.ReadDeliveries(ctx, limit, query, append(PartArgs(part), only, limit)...)
}

// InPart selects the deliveries n of the part in partArgs.
const InPart = `n.event_id = $1
		AND    n.channel = $2
		AND    ` + db.LaneKind + ` = $3
		AND    n.id BETWEEN $4 AND $5`

func PartArgs(part notification.Part) []any {
	if part.IDs.Last == 0 {
		part.IDs.Last = math.MaxInt64
	}
	return []any{part.EventID, part.Lane.Channel, kindOf(part.Lane), part.IDs.First, part.IDs.Last}
}

// ReadDeliveries reads up to limit deliveries. next is as in [Store.LaneDeliveries].
func (s Store) ReadDeliveries(
	ctx context.Context, limit int, query string, args ...any,
) (deliveries []notification.Delivery, next int64, err error) {
	type row struct {
		ID int64
		notification.Delivery
	}
	rows, err := db.Collect(ctx, s.Pool, "read deliveries", db.ByName[row](), query, args...)
	for _, row := range rows {
		deliveries = append(deliveries, row.Delivery)
	}
	if err == nil && len(rows) == limit {
		next = rows[limit-1].ID + 1
	}
	return deliveries, next, err
}

// NextDeliveries returns the stretch of the next deliveries of a lane that are still to be
// made: up to limit deliveries with ids in a range, with one status; empty: any. The zero value:
// there are none.
func (s Store) NextDeliveries(
	ctx context.Context, eventID string, lane notification.Lane, ids notification.IDRange, only notification.Status, limit int,
) (notification.Stretch, error) {
	const query = `
		SELECT coalesce(min(id), 0) AS first,
		       coalesce(max(id), 0) AS last,
		       count(*),
		       coalesce(mode() WITHIN GROUP (ORDER BY priority), '') AS priority,
		       coalesce(bool_or(status = 'FAILED' AND NOT receipt_failed), false) AS failed
		FROM  (SELECT n.id, n.priority, n.status, n.receipt_failed
		       FROM   notification n
		       WHERE  ` + InPart + `
		       AND    ` + db.Undelivered + `
		       AND    $6 IN ('', n.status)
		       ORDER BY n.id
		       LIMIT  $7) AS next`

	part := notification.Part{EventID: eventID, Lane: lane, IDs: ids}
	return db.One(ctx, s.Pool, "find next deliveries", db.ByName[notification.Stretch](), query, append(PartArgs(part), only, limit)...)
}

// Lanes returns the lanes of an event in which a delivery is still to be made.
func (s Store) Lanes(ctx context.Context, eventID string) ([]notification.Lane, error) {
	const query = `
		SELECT c.channel, k.kind = 'LATER' AS waiting
		FROM   unnest($2::text[]) WITH ORDINALITY AS c (channel, place)
		CROSS JOIN (VALUES ('NOW'), ('LATER')) AS k (kind)
		WHERE  EXISTS (
		    SELECT FROM notification n
		    WHERE  n.event_id = $1
		    AND    n.channel = c.channel
		    AND    ` + db.LaneKind + ` = k.kind
		    AND    ` + db.Undelivered + `
		    OFFSET 0) -- keeps the planner from reading a whole broadcast
		ORDER BY c.place, waiting`

	return db.Collect(ctx, s.Pool, "read lanes", pgx.RowToStructByName[notification.Lane], query, eventID, notification.Channels())
}

// BatchDeliveries reads the deliveries of an event over a channel with a notification.id in
// ids. They are due at once and were never attempted. High priority comes first.
func (s Store) BatchDeliveries(
	ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange,
) ([]string, error) {
	const query = `
		SELECT n.delivery_id
		FROM   notification n
		WHERE  n.event_id = $1
		AND    n.channel = $2
		AND    ` + db.LaneKind + ` = 'NOW'
		AND    ` + db.Undelivered + `
		AND    n.status = 'PENDING'
		AND    n.attempt_count = 0
		AND    n.next_attempt_at IS NULL -- otherwise it has left its batch
		AND    n.id BETWEEN $3 AND $4
		ORDER BY CASE n.priority WHEN 'HIGH' THEN 1 WHEN 'NORMAL' THEN 2 ELSE 3 END, n.id
		LIMIT  $5`

	return db.Collect(ctx, s.Pool, "read the deliveries of a batch", pgx.RowTo[string], query, eventID, channel, ids.First, ids.Last, maxBatch)
}

// maxBatch limits a batch whose range has more rows than its lane found. The lane finds the
// rest at its end.
const maxBatch = 4000

// HasRemainingRows reports whether deliveries of a batch are PENDING. It reads only the range of
// the batch.
func (s Store) HasRemainingRows(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) (bool, error) {
	const query = `
		SELECT EXISTS (
		    SELECT FROM notification n
		    WHERE  ` + InPart + `
		    AND    ` + db.Undelivered + `
		    AND    n.status = (SELECT 'PENDING') -- keeps the planner on the index of the lane
		    OFFSET 0)`

	part := notification.Part{EventID: eventID, Lane: notification.Lane{Channel: channel}, IDs: ids}
	return db.One(ctx, s.Pool, "read the rest of a batch", pgx.RowTo[bool], query, PartArgs(part)...)
}

// ReopenFailed makes the FAILED deliveries of a part PENDING, unless a receipt made them
// FAILED.
func (s Store) ReopenFailed(ctx context.Context, part notification.Part) error {
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

	return s.Exec(ctx, "reopen failed deliveries", query, PartArgs(part)...)
}

// failedInPart selects the deliveries n of a part that failed, but not by a receipt.
const failedInPart = InPart + `
			AND    ` + db.Undelivered + `
			AND    n.status = (SELECT 'FAILED') -- keeps the planner on the index of the lane
			AND    NOT n.receipt_failed`
