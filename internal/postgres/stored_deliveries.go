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
	// deliveryFacts are the columns that collectDeliveries reads.
	deliveryFacts = `n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, ` + waitsUntil + `, n.strategy, coalesce(r.timezone, 'UTC'),
		       CASE WHEN n.status <> 'CANCELLED' THEN n.next_attempt_at END, n.attempt_count > 0, ` + escalationFacts
	// selectDeliveries reads deliveries n.
	selectDeliveries = `
		SELECT ` + deliveryFacts + `
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
	rows, _ := s.Pool.Query(ctx, query, args...) // collectDeliveries returns its error
	deliveries, ids, err := collectDeliveries(rows)
	if err == nil {
		err = s.lookAhead(ctx, deliveries)
	}
	if len(deliveries) == limit {
		next = ids.Last + 1
	}
	return deliveries, next, wrap(err, "read deliveries")
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
		       WHERE  n.event_id = $1
		       AND    n.channel = $2
		       AND    ` + laneKind + ` = $3
		       AND    ` + undelivered + `
		       AND    $4 IN ('', n.status)
		       AND    n.id > $5
		       ORDER BY n.id
		       LIMIT  $6) AS next`

	var next notification.Stretch
	err := s.Pool.QueryRow(ctx, query, eventID, lane.Channel, kindOf(lane), only, after, limit).Scan(&next.First, &next.Last, &next.Count, &next.Priority, &next.Failed)
	return next, wrap(err, "find next deliveries")
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

func collectDeliveries(rows pgx.Rows) ([]notification.Delivery, notification.IDRange, error) {
	var deliveries []notification.Delivery
	var ids notification.IDRange
	var row struct {
		id int64
		d  notification.Delivery
		w  storedWait
	}
	fields := []any{&row.id, &row.d.DeliveryID, &row.d.Channel, &row.d.UserType, &row.d.UserID, &row.d.Priority, &row.w.sendAfter, &row.w.strategy, &row.w.timezone,
		&row.w.next, &row.w.attempted, &row.d.Escalation}
	now := time.Now()
	_, err := pgx.ForEachRow(rows, fields, func() error {
		d := row.d
		row.w.of(&d, now)
		if len(deliveries) == 0 {
			ids.First = row.id
		}
		ids.Last = row.id
		deliveries = append(deliveries, d)
		return nil
	})
	return deliveries, ids, err
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
