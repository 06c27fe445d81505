package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Deliveries reads the deliveries of an event whose notification.id is in ids:
// those that wait for a time of their own, or those that do not. Events that
// release 0.1 started read their pages so.
func (s *Store) Deliveries(ctx context.Context, eventID string, ids notification.IDRange, waiting bool) ([]notification.Delivery, error) {
	const query = selectDeliveries + `
		WHERE  n.event_id = $1
		AND    n.id BETWEEN $2 AND $3
		AND    (n.send_after IS NOT NULL OR n.strategy = 'AGGREGATE') = $4
		ORDER BY n.id`

	return s.readDeliveries(ctx, query, eventID, ids.First, ids.Last, waiting)
}

func collectDeliveries(rows pgx.Rows) ([]notification.Delivery, notification.IDRange, error) {
	var deliveries []notification.Delivery
	var ids notification.IDRange
	var row struct {
		id int64
		d  notification.Delivery
		w  wait
	}
	fields := []any{&row.id, &row.d.DeliveryID, &row.d.Channel, &row.d.UserType, &row.d.UserID, &row.d.Priority, &row.w.sendAfter, &row.w.strategy, &row.w.timezone}
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

// wait is what a row of notification says of a delivery's time.
type wait struct {
	sendAfter *time.Time
	strategy  notification.Strategy
	timezone  string
}

// of tells a delivery what it waits for.
func (w wait) of(d *notification.Delivery, now time.Time) {
	d.Digest = w.strategy == notification.Aggregate
	if w.sendAfter == nil || d.Digest { // a digest judges for itself when it is sent
		return
	}
	why := notification.WaitQuietHours
	if w.strategy == notification.Delayed {
		why = notification.WaitDelay
	}
	d.SendAfter, d.Wait = w.sendAfter.UTC(), notification.WaitText(*w.sendAfter, now, w.timezone, why)
}
