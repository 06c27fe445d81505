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
		       b.id, b.event_id, b.event_type, b.user_type, b.user_id,
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
		&m.NotificationID, &m.EventID, &m.EventType, &m.UserType, &m.UserID, &m.Name, &m.To, &m.Title, &m.Body, &m.CreatedAt, &a.Problem, &m.Devices)
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

// EndAttempt records how an attempt ended, on the attempt, on its delivery and
// on devices that proved dead, in one statement. Recording it twice changes
// nothing the second time. A status only climbs: what was sent stays sent, even
// if it was cancelled while the provider was already accepting it.
//
// For a delivery that this marks as sent it returns the time since its event was
// written: 0 where its rules delayed it, or an operator had it made once more.
func (s *Store) EndAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error) {
	const query = `
		WITH ended AS (
			UPDATE delivery_attempt
			SET    ended_at        = now(),
			       outcome         = $3,
			       provider_status = nullif($4, 0),
			       detail          = nullif($6, '')
			WHERE  delivery_id = $1
			AND    attempt = $2
			AND    ended_at IS NULL
			RETURNING delivery_id
		), dead AS (
			UPDATE recipient_device d
			SET    active = false
			FROM   notification n
			WHERE  n.delivery_id = $1
			AND    d.user_type = n.user_type
			AND    d.user_id = n.user_id
			AND    d.token = ANY ($7)
		)
		UPDATE notification n
		SET    status              = CASE $3 WHEN 'SENT' THEN 'SENT' ELSE n.status END,
		       sent_at             = CASE $3 WHEN 'SENT' THEN now() ELSE n.sent_at END,
		       provider_message_id = CASE $3 WHEN 'SENT' THEN nullif($5, '') ELSE n.provider_message_id END,
		       last_error          = nullif($6, '')
		FROM   ended e
		WHERE  n.delivery_id = e.delivery_id
		AND    (n.status IN ('PENDING', 'FAILED') OR (n.status = 'CANCELLED' AND $3 = 'SENT'))
		RETURNING CASE
		    WHEN n.status = 'SENT' AND n.strategy = 'IMMEDIATE' AND n.send_after IS NULL
		         AND NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)
		    THEN greatest(now() - (SELECT o.created_at FROM event_outbox o WHERE o.event_id = n.event_id), '0')
		    END`

	var age *time.Duration // nil: not to be measured
	err := s.Pool.QueryRow(ctx, query, result.DeliveryID, result.Number, string(result.Outcome), result.ProviderStatus, result.ProviderID, result.Detail, result.DeadDevices).Scan(&age)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil // recorded before, or its delivery stays as it is
	case err != nil:
		return 0, fmt.Errorf("end attempt: %w", err)
	case age == nil:
		return 0, nil
	default:
		return *age, nil
	}
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
		SELECT delivery_id, event_id, channel, user_type, user_id, coalesce(last_error, ''), attempt_count, now()
		FROM   notification
		WHERE  delivery_id = $1`

	var d notification.DeadLetter
	err := s.Pool.QueryRow(ctx, query, deliveryID).Scan(&d.DeliveryID, &d.EventID, &d.Channel, &d.UserType, &d.UserID, &d.Reason, &d.Attempts, &d.FailedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.DeadLetter{}, notification.ErrNoDelivery
	}
	if err != nil {
		return notification.DeadLetter{}, fmt.Errorf("read failure: %w", err)
	}
	return d, nil
}

// QuietCheck reads what judging a delivery's quiet hours takes, as it is now.
// Where there is no such delivery, the error is [notification.ErrNoDelivery].
func (s *Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	const query = `
		SELECT n.channel,
		       coalesce(e.quiet_hours_action, 'DROP'),
		       coalesce(r.timezone, 'UTC'),
		       CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
		           'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
		           'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END
		FROM   notification n
		LEFT JOIN event_type_channel_routing e ON e.event_type = n.event_type AND e.channel_type = n.channel
		LEFT JOIN recipient r ON r.user_type = n.user_type AND r.user_id = n.user_id
		LEFT JOIN user_notification_preferences u ON u.user_type = n.user_type AND u.user_id = n.user_id AND u.channel_type = n.channel
		WHERE  n.delivery_id = $1`

	var check notification.QuietCheck
	err := s.Pool.QueryRow(ctx, query, deliveryID).Scan(&check.Preference.Channel, &check.Action, &check.Timezone, &check.Preference.QuietHours)
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.QuietCheck{}, notification.ErrNoDelivery
	}
	if err != nil {
		return notification.QuietCheck{}, fmt.Errorf("read quiet hours: %w", err)
	}
	return check, nil
}
