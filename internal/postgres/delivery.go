package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// BeginAttempt counts an attempt at a delivery, opens its row in
// delivery_attempt and returns what to send, all in one statement: whatever
// dies after it leaves an attempt that was begun and never ended. before is how
// many attempts earlier runs of the delivery had.
//
// A delivery that needs no sending is returned with its status and nothing is
// counted. Where there is none, the error is [notification.ErrNoDelivery].
func (s *Store) BeginAttempt(ctx context.Context, deliveryID string, before int) (notification.Attempt, error) {
	const query = `
		WITH begun AS (
			UPDATE notification
			SET    attempt_count = attempt_count + 1
			WHERE  delivery_id = $1
			AND    status IN ('PENDING', 'FAILED')
			RETURNING *
		), attempt AS (
			INSERT INTO delivery_attempt (delivery_id, attempt)
			SELECT delivery_id, attempt_count
			FROM   begun
		)
		SELECT b.status, b.attempt_count,
		       (SELECT count(*) FROM delivery_attempt a WHERE a.delivery_id = $1 AND a.attempt > $2 AND a.ended_at IS NOT NULL),
		       b.attempt_count - $2,
		       b.id, b.event_id, b.event_type, coalesce(b.correlation_id, ''), b.user_type, b.user_id,
		       coalesce(r.name, ''), coalesce(b.recipient_address, ''), coalesce(b.title, ''), coalesce(b.body, ''), b.created_at,
		       CASE WHEN b.body IS NULL THEN b.last_error ELSE '' END,
		       CASE WHEN b.channel = 'PUSH' THEN ARRAY (
		           SELECT d.token FROM recipient_device d
		           WHERE  d.user_type = b.user_type AND d.user_id = b.user_id AND d.active
		           ORDER BY d.token
		           LIMIT  $3) END
		FROM   begun b
		LEFT JOIN recipient r USING (user_type, user_id)`

	var a notification.Attempt
	m := &a.Message
	err := s.Pool.QueryRow(ctx, query, deliveryID, before, maxDevices).Scan(&a.Status, &a.Number, &a.Ended, &a.Begun,
		&m.NotificationID, &m.EventID, &m.EventType, &m.CorrelationID, &m.UserType, &m.UserID, &m.Name, &m.To, &m.Title, &m.Body, &m.CreatedAt, &a.Problem, &m.Devices)
	if errors.Is(err, pgx.ErrNoRows) {
		status, err := s.DeliveryStatus(ctx, deliveryID)
		return notification.Attempt{Status: status}, err
	}
	if err != nil {
		return notification.Attempt{}, fmt.Errorf("begin attempt: %w", err)
	}
	m.DeliveryID = deliveryID
	return a, nil
}

// maxDevices bounds the devices of one person that a push goes to.
const maxDevices = 20

// DeliveryStatus reads how far a delivery has come. Where there is none, the
// error is [notification.ErrNoDelivery].
func (s *Store) DeliveryStatus(ctx context.Context, deliveryID string) (notification.Status, error) {
	var status notification.Status
	err := s.Pool.QueryRow(ctx, "SELECT status FROM notification WHERE delivery_id = $1", deliveryID).Scan(&status)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notification.ErrNoDelivery
	}
	if err != nil {
		return "", fmt.Errorf("read delivery status: %w", err)
	}
	return status, nil
}

// GiveUp ends a delivery that will not be sent, as FAILED or CANCELLED, and
// returns the status that it has then: one that was sent meanwhile stays sent.
// One that cannot be cancelled at the moment, since the digest which lists it is
// with its provider, stays PENDING.
func (s *Store) GiveUp(ctx context.Context, deliveryID string, status notification.Status, reason string) (notification.Status, error) {
	const query = `
		UPDATE notification n
		SET    status     = CASE WHEN open THEN $2 ELSE status END,
		       last_error = CASE WHEN open THEN $3 ELSE last_error END,
		       digest_id  = CASE WHEN open AND $2 = 'CANCELLED' THEN NULL ELSE digest_id END
		FROM  (SELECT delivery_id,
		              status = 'FAILED' OR (status = 'PENDING' AND NOT (
		                  -- an attempt that began while this statement waited for the row is counted, but not to be seen
		                  $2 = 'CANCELLED' AND digest_id IS NOT NULL AND attempt_count > 0 AND NOT EXISTS (
		                      SELECT FROM delivery_attempt a
		                      WHERE  a.delivery_id = $1
		                      AND    a.attempt = attempt_count
		                      AND    (a.ended_at IS NOT NULL OR a.started_at <= now() - $4::interval)))) AS open
		       FROM   notification
		       WHERE  delivery_id = $1
		       FOR UPDATE) AS o
		WHERE  n.delivery_id = o.delivery_id
		RETURNING status`

	var now notification.Status
	err := s.Pool.QueryRow(ctx, query, deliveryID, status, reason, longestAttempt).Scan(&now)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notification.ErrNoDelivery
	}
	if err != nil {
		return "", fmt.Errorf("give up delivery: %w", err)
	}
	return now, nil
}

// longestAttempt is far above what an attempt takes whose process lives.
const longestAttempt = 2 * time.Minute

// Failure reads what a dead letter says of a delivery. Where there is none, the
// error is [notification.ErrNoDelivery].
func (s *Store) Failure(ctx context.Context, deliveryID string) (notification.DeadLetter, error) {
	const query = `
		SELECT delivery_id, event_id, coalesce(correlation_id, ''), channel, user_type, user_id, coalesce(last_error, ''), attempt_count, now()
		FROM   notification
		WHERE  delivery_id = $1`

	var d notification.DeadLetter
	err := s.Pool.QueryRow(ctx, query, deliveryID).Scan(&d.DeliveryID, &d.EventID, &d.CorrelationID, &d.Channel, &d.UserType, &d.UserID, &d.Reason, &d.Attempts, &d.FailedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.DeadLetter{}, notification.ErrNoDelivery
	}
	if err != nil {
		return notification.DeadLetter{}, fmt.Errorf("read failure: %w", err)
	}
	return d, nil
}
