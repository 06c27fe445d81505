package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// StuckEvents reads events that are PROCESSING for longer than age: up to limit
// of those behind after, in the order of their ids.
func (s *Store) StuckEvents(ctx context.Context, after string, age time.Duration, limit int) ([]notification.StuckEvent, error) {
	const query = `
		SELECT p.event_id AS id,
		       coalesce(o.source, '') AS source,
		       coalesce(o.event_type, '') AS type,
		       coalesce(o.aggregate_type, '') AS aggregate_type,
		       coalesce(o.aggregate_id, '') AS aggregate_id,
		       coalesce(o.correlation_id, '') AS correlation_id,
		       coalesce(o.cancels, '') AS cancels,
		       p.restarts,
		       o.event_id IS NULL AS purged
		FROM   processed_event p
		LEFT JOIN event_outbox o USING (event_id)
		WHERE  p.status = 'PROCESSING'
		AND    p.created_at < now() - $2::interval
		AND    p.event_id > $1
		ORDER BY p.event_id
		LIMIT  $3`

	return collect(ctx, s.Pool, "read stuck events", pgx.RowToStructByNameLax[notification.StuckEvent], query, after, age, limit)
}

// StuckDeliveries reads deliveries that are PENDING for longer than age: up to
// limit of those whose notification.id is above after. It leaves out those of an
// event that is about to be started, or was within age: its workflow starts them.
func (s *Store) StuckDeliveries(ctx context.Context, after int64, age time.Duration, limit int) ([]notification.StuckDelivery, error) {
	const query = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, n.event_id, n.event_type, n.created_at, n.restarts,
		       coalesce(o.aggregate_type, ''), coalesce(o.aggregate_id, ''),
		       n.send_after, n.strategy, coalesce(r.timezone, 'UTC')
		FROM   notification n
		` + recipientOf + `
		LEFT JOIN event_outbox o ON o.event_id = n.event_id
		LEFT JOIN processed_event p ON p.event_id = n.event_id
		WHERE  n.status = 'PENDING'
		AND    n.created_at < now() - $2::interval
		AND    n.id > $1
		AND    o.status IS DISTINCT FROM 'PENDING'
		AND    (p.created_at IS NULL OR p.created_at < now() - $2::interval)
		ORDER BY n.id
		LIMIT  $3`

	now := time.Now()
	scan := func(row pgx.CollectableRow) (d notification.StuckDelivery, err error) {
		var w storedWait
		err = row.Scan(&d.ID, &d.DeliveryID, &d.Channel, &d.UserType, &d.UserID, &d.Priority, &d.EventID, &d.EventType, &d.CreatedAt, &d.Restarts,
			&d.Aggregate.Type, &d.Aggregate.ID, &w.sendAfter, &w.strategy, &w.timezone)
		w.of(&d.Delivery, now)
		return d, err
	}
	return collect(ctx, s.Pool, "read stuck deliveries", scan, query, after, age, limit)
}

// EventRestarted counts that the sweep has started an event again.
func (s *Store) EventRestarted(ctx context.Context, eventID string) error {
	_, err := s.Pool.Exec(ctx, "UPDATE processed_event SET restarts = restarts + 1 WHERE event_id = $1", eventID)
	return wrap(err, "count restart of event")
}

// DeliveryRestarted counts that the sweep has started a delivery again.
func (s *Store) DeliveryRestarted(ctx context.Context, deliveryID string) error {
	_, err := s.Pool.Exec(ctx, "UPDATE notification SET restarts = restarts + 1 WHERE delivery_id = $1", deliveryID)
	return wrap(err, "count restart of delivery")
}

// EndStuckEvent marks an event as FAILED, with an outcome, that is PROCESSING for
// longer than age. An event that was begun anew stays as it is.
func (s *Store) EndStuckEvent(ctx context.Context, eventID string, outcome notification.EventOutcome, age time.Duration) error {
	const query = `
		UPDATE processed_event
		SET    status     = 'FAILED',
		       outcome    = $2,
		       updated_at = now()
		WHERE  event_id = $1
		AND    status = 'PROCESSING'
		AND    created_at < now() - $3::interval`

	_, err := s.Pool.Exec(ctx, query, eventID, outcome, age)
	return wrap(err, "end stuck event")
}

// RecordSweep keeps what a sweep found, for the next sweep and for operators. It
// removes the outcome INCOMPLETE from events whose deliveries have all ended.
func (s *Store) RecordSweep(ctx context.Context, sweep notification.Sweep) error {
	const insert = `
		INSERT INTO sweep (looked, started_again, closed, failed, after_event, after_notification)
		VALUES ($1, $2, $3, $4, $5, $6)`
	const forget = `
		DELETE FROM sweep
		WHERE  id <= (SELECT id FROM sweep ORDER BY id DESC OFFSET 100 LIMIT 1)`
	const complete = `
		UPDATE processed_event
		SET    outcome = CASE WHEN problem IS NOT NULL THEN 'PROBLEM' END
		WHERE  event_id IN (
			SELECT event_id
			FROM   processed_event p
			WHERE  outcome = 'INCOMPLETE'
			AND    NOT EXISTS (SELECT FROM notification n WHERE n.event_id = p.event_id AND n.status = 'PENDING')
			LIMIT  1000)`

	batch := &pgx.Batch{}
	batch.Queue(insert, sweep.Looked, sweep.StartedAgain, sweep.Closed, sweep.Failed, sweep.AfterEvent, sweep.AfterNotification)
	batch.Queue(forget)
	batch.Queue(complete)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return wrap(err, "record sweep")
}

// LastSweep reads what the last sweep found. The zero value: there was none.
func (s *Store) LastSweep(ctx context.Context) (notification.Sweep, error) {
	const query = `
		SELECT at, looked, started_again, closed, failed, after_event, after_notification
		FROM   sweep
		ORDER BY id DESC
		LIMIT  1`

	var last notification.Sweep
	err := s.Pool.QueryRow(ctx, query).Scan(&last.At, &last.Looked, &last.StartedAgain, &last.Closed, &last.Failed, &last.AfterEvent, &last.AfterNotification)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return notification.Sweep{}, fmt.Errorf("read last sweep: %w", err)
	}
	return last, nil
}
