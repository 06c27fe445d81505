package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DigestPlace reads which digest a delivery belongs to. Where there is no such
// delivery, the error is [notification.ErrNoDelivery].
func (s *Store) DigestPlace(ctx context.Context, deliveryID string) (notification.DigestPlace, error) {
	const query = `
		SELECT n.status,
		       CASE WHEN n.status = 'FAILED' THEN n.last_error ELSE '' END,
		       n.user_type, n.user_id, n.channel, n.event_type,
		       n.priority,
		       coalesce(r.digest_window, '5 minutes')
		FROM   notification n
		LEFT JOIN event_type_channel_routing r ON r.event_type = n.event_type AND r.channel_type = n.channel
		WHERE  n.delivery_id = $1`

	var p notification.DigestPlace
	err := s.Pool.QueryRow(ctx, query, deliveryID).Scan(&p.Status, &p.Problem,
		&p.Key.UserType, &p.Key.UserID, &p.Key.Channel, &p.Key.EventType, &p.Priority, &p.Window)
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.DigestPlace{}, notification.ErrNoDelivery
	}
	if err != nil {
		return notification.DigestPlace{}, fmt.Errorf("read place in digest: %w", err)
	}
	return p, nil
}

// SealDigest decides what a digest lists: the oldest deliveries that wait for
// one of its kind, as many as fit. From then on they are this digest's. A repeat
// returns the same again, and what has come since, if that fits too.
//
// One that another digest sealed is taken over: of each kind only one runs at a
// time, so that one has died.
func (s *Store) SealDigest(ctx context.Context, digestID string, key notification.DigestKey, window time.Duration) (notification.SealedDigest, error) {
	const query = `
		WITH candidate AS MATERIALIZED (
			SELECT id, delivery_id, created_at, octet_length(title) + octet_length(body) AS bytes,
			       digest_id IS NOT DISTINCT FROM $1 AS mine -- which it stays, even if an older one was committed late
			FROM   notification
			WHERE  user_type = $2
			AND    user_id = $3
			AND    channel = $4
			AND    event_type = $5
			AND    strategy = 'AGGREGATE'
			AND    status = 'PENDING'
			ORDER BY mine DESC, id
			LIMIT  $6 + 1
			FOR UPDATE
		), measured AS (
			SELECT c.*, row_number() OVER w AS place, sum(bytes) OVER w AS total
			FROM   candidate c
			WINDOW w AS (ORDER BY mine DESC, id)
		), sealed AS (
			UPDATE notification n
			SET    digest_id = $1
			FROM   measured m
			WHERE  n.id = m.id
			AND    (m.place = 1 OR (m.place <= $6 AND m.total <= $7))
			RETURNING n.id, n.delivery_id
		)
		SELECT coalesce((SELECT array_agg(delivery_id ORDER BY id) FROM sealed), '{}'),
		       (SELECT min(created_at) + $8::interval FROM measured WHERE id NOT IN (SELECT id FROM sealed))`

	var sealed notification.SealedDigest
	var next *time.Time
	err := s.Pool.QueryRow(ctx, query, digestID, key.UserType, key.UserID, key.Channel, key.EventType,
		notification.MaxDigestItems, key.Channel.DigestBytes(), window).Scan(&sealed.Items, &next)
	if err != nil {
		return notification.SealedDigest{}, fmt.Errorf("seal digest: %w", err)
	}
	if next != nil {
		sealed.Next = next.UTC()
	}
	return sealed, nil
}

// BeginDigest counts an attempt at each item of a digest that was not cancelled,
// as [Store.BeginAttempt] does, and returns what to send. Where there is nothing,
// it may have been sent by an attempt that died before it could say so.
func (s *Store) BeginDigest(ctx context.Context, digestID string, key notification.DigestKey) (notification.DigestAttempt, error) {
	const begin = `
		WITH begun AS (
			UPDATE notification
			SET    attempt_count = attempt_count + 1
			WHERE  digest_id = $1
			AND    status = 'PENDING'
			RETURNING *
		), attempt AS (
			INSERT INTO delivery_attempt (delivery_id, attempt)
			SELECT delivery_id, attempt_count
			FROM   begun
		)
		SELECT b.delivery_id, b.attempt_count, b.event_id, b.title, b.body, b.created_at, coalesce(b.recipient_address, ''),
		       (SELECT count(*) FROM delivery_attempt a WHERE a.delivery_id = b.delivery_id AND a.ended_at IS NOT NULL)
		FROM   begun b
		ORDER BY b.id`
	const before = `
		SELECT count(*)
		FROM   notification
		WHERE  digest_id = $1
		AND    status IN ('SENT', 'DELIVERED')`
	const recipient = `
		SELECT r.name, r.locale,
		       CASE WHEN $3 = 'PUSH' THEN ARRAY (
		           SELECT d.token FROM recipient_device d
		           WHERE  d.user_type = r.user_type AND d.user_id = r.user_id AND d.active
		           ORDER BY d.token
		           LIMIT  $4) END
		FROM   recipient r
		WHERE  r.user_type = $1
		AND    r.user_id = $2`
	const templates = `
		SELECT event_type, channel, locale, title, body
		FROM   notification_template
		WHERE  event_type = 'digest'
		LIMIT  $1`

	attempt := notification.DigestAttempt{Recipient: notification.Recipient{UserType: key.UserType, UserID: key.UserID}}
	m := &attempt.Message
	batch := &pgx.Batch{}
	batch.Queue(begin, digestID).Query(func(rows pgx.Rows) error { return attemptItems(rows, &attempt) })
	batch.Queue(before, digestID).QueryRow(func(row pgx.Row) error { return row.Scan(&attempt.Sent) })
	batch.Queue(recipient, key.UserType, key.UserID, key.Channel, maxDevices).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&attempt.Recipient.Name, &attempt.Recipient.Locale, &m.Devices}, func() error { return nil })
		return err
	})
	queueInto(batch, &attempt.Templates, templates, maxRulesPerEventType)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return notification.DigestAttempt{}, fmt.Errorf("begin digest: %w", err)
	}
	m.DeliveryID, m.EventType, m.UserType, m.UserID, m.Name = digestID, key.EventType, key.UserType, key.UserID, attempt.Recipient.Name
	return attempt, nil
}

// attemptItems reads the items of a digest. Where they differ in how often they
// were tried, the least tried one counts; the latest knows the address best.
func attemptItems(rows pgx.Rows, attempt *notification.DigestAttempt) error {
	var item notification.DigestItem
	var ended int
	fields := []any{&item.DeliveryID, &item.Attempt, &item.EventID, &item.Title, &item.Body, &item.CreatedAt, &attempt.Message.To, &ended}
	_, err := pgx.ForEachRow(rows, fields, func() error {
		if len(attempt.Items) == 0 || item.Attempt < attempt.Begun {
			attempt.Begun, attempt.Ended = item.Attempt, ended
		}
		attempt.Items = append(attempt.Items, item)
		attempt.Message.CreatedAt = item.CreatedAt
		return nil
	})
	return err
}

// GiveUpDigest ends the items of a digest that will not be sent, as FAILED or
// CANCELLED. Those that ended already stay as they are.
func (s *Store) GiveUpDigest(ctx context.Context, digestID string, status notification.Status, reason string) error {
	const query = `
		UPDATE notification
		SET    status     = $2,
		       last_error = $3
		WHERE  digest_id = $1
		AND    status = 'PENDING'`

	if _, err := s.Pool.Exec(ctx, query, digestID, status, reason); err != nil {
		return fmt.Errorf("give up digest: %w", err)
	}
	return nil
}
