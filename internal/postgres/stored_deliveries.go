package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

const (
	// laneKind is the kind of a delivery, as [notification.Delivery.Waits] says; the index
	// notification_to_deliver has the same expression.
	laneKind = `CASE WHEN n.send_after IS NULL AND n.strategy <> 'AGGREGATE' AND NOT n.escalates THEN 'NOW' ELSE 'LATER' END`
	// undelivered are the rows of that index: what FAILED may be tried again, and whether
	// another delivery has to follow may still be open where the event's workflow was lost.
	undelivered = `(n.status IN ('PENDING', 'FAILED') OR n.escalates)`
	// waitsUntil is when the delivery n is to be sent. A CANCELLED one waits for nothing: its
	// workflow ends at once.
	waitsUntil = `CASE WHEN n.status <> 'CANCELLED' THEN n.send_after END`
	// selectDeliveries reads deliveries n, as readDeliveries scans them.
	selectDeliveries = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, ` + waitsUntil + `, n.strategy, coalesce(r.timezone, 'UTC'),
		       CASE WHEN n.status <> 'CANCELLED' THEN n.next_attempt_at END, n.attempt_count > 0, ` + escalationFacts + `
		FROM   notification n
		` + recipientOf + `
		` + escalationOf
)

func kindOf(lane notification.Lane) string {
	if lane.Waiting {
		return "LATER"
	}
	return "NOW"
}

// Undelivered reads deliveries of an event that are still to be made, up to limit of them.
// The rows are found in the order of their index, so that neither a large event nor others
// are read further; the planner cannot see which event it is, and keeps its plan.
func (s *Store) Undelivered(ctx context.Context, eventID string, limit int) ([]notification.Delivery, error) {
	const query = selectDeliveries + `
		WHERE  n.id = ANY (ARRAY (
			SELECT n.id
			FROM   notification n
			WHERE  n.event_id = (SELECT $1::text)
			AND    ` + undelivered + `
			ORDER BY n.channel, ` + laneKind + `, n.id
			LIMIT  $2))
		ORDER BY n.id`

	deliveries, _, err := s.readDeliveries(ctx, limit, query, eventID, limit)
	return deliveries, err
}

// LaneDeliveries reads the first deliveries of a part that are still to be made, up to
// limit: those with a status, or with any if it is empty. next is the first notification.id
// to read after them; 0: that was all.
func (s *Store) LaneDeliveries(ctx context.Context, part notification.Part, only notification.Status, limit int) (deliveries []notification.Delivery, next int64, err error) {
	const query = selectDeliveries + `
		WHERE  ` + inPart + `
		AND    ` + undelivered + `
		AND    $6 IN ('', n.status)
		ORDER BY n.id
		LIMIT  $7`

	return s.readDeliveries(ctx, limit, query, append(partArgs(part), only, limit)...)
}

// inPart holds for the deliveries n of the part that partArgs names.
const inPart = `n.event_id = $1
		AND    n.channel = $2
		AND    ` + laneKind + ` = $3
		AND    n.id BETWEEN $4 AND $5`

func partArgs(part notification.Part) []any {
	if part.IDs.Last == 0 {
		part.IDs.Last = math.MaxInt64
	}
	return []any{part.EventID, part.Lane.Channel, kindOf(part.Lane), part.IDs.First, part.IDs.Last}
}

// readDeliveries reads up to limit deliveries. next is as in [Store.LaneDeliveries].
func (s *Store) readDeliveries(ctx context.Context, limit int, query string, args ...any) (deliveries []notification.Delivery, next int64, err error) {
	var last int64
	now := time.Now()
	scan := func(row pgx.CollectableRow) (d notification.Delivery, err error) {
		var w storedWait
		err = row.Scan(&last, &d.DeliveryID, &d.Channel, &d.UserType, &d.UserID, &d.Priority, &w.sendAfter, &w.strategy, &w.timezone, &w.next, &w.attempted, &d.Escalation)
		w.of(&d, now)
		return d, err
	}
	if deliveries, err = collect(ctx, s.Pool, "read deliveries", scan, query, args...); err != nil {
		return nil, 0, err
	}
	if len(deliveries) == limit {
		next = last + 1
	}
	return deliveries, next, wrap(s.lookAhead(ctx, deliveries), "read deliveries")
}

// lookAhead adds what quiet hours will do when a wait ends to what deliveries wait for.
func (s *Store) lookAhead(ctx context.Context, deliveries []notification.Delivery) error {
	var waiting []string
	for _, d := range deliveries {
		if !d.SendAfter.IsZero() {
			waiting = append(waiting, d.DeliveryID)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = ANY ($1)", waiting)
	if err != nil {
		return err
	}
	checks := make(map[string]notification.QuietCheck, len(found))
	for _, f := range found {
		checks[f.DeliveryID] = quietCheck([]attemptFacts{f})
	}
	now := time.Now()
	for i, d := range deliveries {
		if check, known := checks[d.DeliveryID]; known {
			deliveries[i].Wait += check.Ahead(d.SendAfter, now)
		}
	}
	return nil
}

// NextDeliveries returns the stretch of the next deliveries of a lane that are still to
// be made, with a status or, where it is empty, with any: up to limit of them, behind
// after. The zero value: there are none.
func (s *Store) NextDeliveries(ctx context.Context, eventID string, lane notification.Lane, after int64, only notification.Status, limit int) (notification.Stretch, error) {
	const query = `
		SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*),
		       coalesce(mode() WITHIN GROUP (ORDER BY priority), ''), coalesce(bool_or(status = 'FAILED' AND NOT receipt_failed), false)
		FROM  (SELECT n.id, n.priority, n.status, n.receipt_failed
		       FROM   notification n
		       WHERE  ` + inPart + `
		       AND    ` + undelivered + `
		       AND    $6 IN ('', n.status)
		       ORDER BY n.id
		       LIMIT  $7) AS next`

	part := notification.Part{EventID: eventID, Lane: lane, IDs: notification.IDRange{First: after + 1}}
	return one(ctx, s.Pool, "find next deliveries", pgx.RowToStructByPos[notification.Stretch], query, append(partArgs(part), only, limit)...)
}

// Lanes returns the lanes of an event in which a delivery is still to be made.
func (s *Store) Lanes(ctx context.Context, eventID string) ([]notification.Lane, error) {
	const query = `
		SELECT c.channel, k.kind = 'LATER' AS waiting
		FROM   unnest($2::text[]) WITH ORDINALITY AS c (channel, place)
		CROSS JOIN (VALUES ('NOW'), ('LATER')) AS k (kind)
		WHERE  EXISTS (
		    SELECT FROM notification n
		    WHERE  n.event_id = $1
		    AND    n.channel = c.channel
		    AND    ` + laneKind + ` = k.kind
		    AND    ` + undelivered + `
		    OFFSET 0) -- keeps the planner from reading a whole broadcast
		ORDER BY c.place, waiting`

	return collect(ctx, s.Pool, "read lanes", pgx.RowToStructByName[notification.Lane], query, eventID, notification.Channels())
}

// storedWait is what a row of notification says of a delivery's time.
type storedWait struct {
	sendAfter *time.Time
	strategy  notification.Strategy
	timezone  string
	next      *time.Time // when the next attempt is due; nil: as sendAfter says
	attempted bool
}

// of tells a delivery what it waits for.
func (w storedWait) of(d *notification.Delivery, now time.Time) {
	d.Digest = w.strategy == notification.Aggregate
	switch {
	case w.next == nil:
	case w.attempted:
		d.Next = w.next.UTC()
	case w.sendAfter == nil: // quiet hours held it back just before its first attempt
		w.sendAfter = w.next
	}
	if w.sendAfter == nil || d.Digest { // a digest judges for itself when it is sent
		return
	}
	why := notification.WaitQuietHours
	if w.strategy == notification.Delayed {
		why = notification.WaitDelay
	}
	d.SendAfter, d.Wait = w.sendAfter.UTC(), notification.WaitText(*w.sendAfter, now, w.timezone, why)
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

	part := notification.Part{EventID: eventID, Lane: notification.Lane{Channel: channel}, IDs: ids}
	return one(ctx, s.Pool, "read the rest of a batch", pgx.RowTo[bool], query, partArgs(part)...)
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

	return s.exec(ctx, "reopen failed deliveries", query, partArgs(part)...)
}

// failedInPart holds for the deliveries n of a part that failed, and not by a receipt.
const failedInPart = inPart + `
			AND    ` + undelivered + `
			AND    n.status = (SELECT 'FAILED') -- keeps the planner to the index of the lane
			AND    NOT n.receipt_failed`
