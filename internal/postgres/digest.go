package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DigestPlace reads the digest that a delivery belongs to. If the delivery does not exist,
// the error is [notification.ErrNoDelivery].
func (s *Store) DigestPlace(ctx context.Context, deliveryID string) (notification.DigestPlace, error) {
	const query = `
		SELECT n.status,
		       CASE WHEN n.status = 'FAILED' THEN n.last_error ELSE '' END,
		       n.user_type, n.user_id, n.channel, n.event_type,
		       u.who,
		       n.priority,
		       coalesce(r.digest_window, '5 minutes'),
		       CASE WHEN r.digest_first OR r.digest_at IS NOT NULL THEN n.send_after END,
		       r.digest_at IS NOT NULL
		FROM   notification n
		JOIN   user_type u USING (user_type)
		LEFT JOIN event_type_channel_routing r ON r.event_type = n.event_type AND r.channel_type = n.channel
		WHERE  n.delivery_id = $1`

	var p notification.DigestPlace
	err := scanDelivery(s.Pool.QueryRow(ctx, query, deliveryID), "read place in digest", &p.Status, &p.Problem,
		&p.Key.UserType, &p.Key.UserID, &p.Key.Channel, &p.Key.EventType, &p.Who, &p.Priority, &p.Window, orZero{&p.Due}, &p.Timed)
	return p, err
}

// SealDigest decides which deliveries a digest lists: the oldest deliveries that wait for a
// digest of its kind, as many as fit. From then on they belong to this digest. A repeat
// returns them again, and adds newer deliveries if they fit too.
//
// It takes over deliveries that another digest sealed. Only one digest of a kind runs at a
// time, so the other digest has died.
func (s *Store) SealDigest(ctx context.Context, digestID string, key notification.DigestKey, window notification.DigestWindow) (notification.SealedDigest, error) {
	const query = `
		WITH candidate AS MATERIALIZED (
			SELECT id, delivery_id, octet_length(title) + octet_length(body) AS bytes,
			       coalesce(CASE WHEN $9 THEN send_after END, created_at + $8::interval) AS due,
			       NOT $10 OR coalesce(send_after <= now(), true) AS ready,
			       digest_id IS NOT DISTINCT FROM $1 AS mine -- stays so, even if an older delivery commits late
			FROM   notification
			WHERE  user_type = $2
			AND    user_id = $3
			AND    channel = $4
			AND    event_type = $5
			AND    strategy = 'AGGREGATE'
			AND    status = 'PENDING'
			ORDER BY mine DESC, ready DESC, id
			LIMIT  $6 + 1
			FOR UPDATE
		), measured AS (
			SELECT c.*, row_number() OVER w AS place, sum(bytes) OVER w AS total
			FROM   candidate c
			WINDOW w AS (ORDER BY mine DESC, ready DESC, id)
		), sealed AS (
			UPDATE notification n
			SET    digest_id = $1
			FROM   measured m
			WHERE  n.id = m.id
			AND    (m.mine OR m.ready)
			AND    (m.place = 1 OR (m.place <= $6 AND m.total <= $7))
			RETURNING n.id, n.delivery_id
		)
		SELECT coalesce((SELECT array_agg(delivery_id ORDER BY id) FROM sealed), '{}'),
		       (SELECT min(due) FROM measured WHERE id NOT IN (SELECT id FROM sealed))`

	var sealed notification.SealedDigest
	err := s.Pool.QueryRow(ctx, query, digestID, key.UserType, key.UserID, key.Channel, key.EventType,
		notification.MaxDigestItems, key.Channel.DigestBytes(), window.Length, window.Timed, window.ReadyOnly).Scan(&sealed.Items, orZero{&sealed.Next})
	return sealed, Wrap(err, "seal digest")
}

// GiveUpDigest ends the items of a digest that will not be sent, as FAILED or CANCELLED.
// Items that ended before stay as they are. It returns, by delivery id, why the rules
// dropped items.
func (s *Store) GiveUpDigest(ctx context.Context, digestID string, status notification.Status, reason string) (map[string]string, error) {
	const query = `
		UPDATE notification
		SET    status       = $2,
		       last_error   = $3,
		       available_at = CASE WHEN $2 = 'FAILED' AND attempt_count > 0 THEN coalesce(available_at, now()) ELSE available_at END
		WHERE  digest_id = $1
		AND    status = 'PENDING'`

	var found notification.Digest
	batch := &pgx.Batch{}
	queueEndedItems(batch, digestID, &found)
	batch.Queue(query, digestID, status, reason)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return found.Dropped, Wrap(err, "give up digest")
}

// DigestItems reads the deliveries that a digest must still list, in order.
func (s *Store) DigestItems(ctx context.Context, digestID string) ([]string, error) {
	const query = `
		SELECT delivery_id
		FROM   notification
		WHERE  digest_id = $1
		AND    status = 'PENDING'
		ORDER BY id
		LIMIT  $2`

	return Collect(ctx, s.Pool, "read the items of a digest", pgx.RowTo[string], query, digestID, notification.MaxDigestItems)
}

// ReadDigest reads how the other items of a digest ended, and the locale and templates for
// its text. It needs one round trip. A delivery that an operator cancels leaves its digest.
func (s *Store) ReadDigest(ctx context.Context, digestID string, key notification.DigestKey) (notification.Digest, error) {
	const locale = `
		SELECT coalesce(r.locale, '')
		FROM   ` + directoryRecipient + ` r
		WHERE  r.user_type = $1
		AND    r.user_id = $2
		LIMIT  1`
	const templates = `
		SELECT event_type, channel, locale, title, body, coalesce(url, '') AS url
		FROM   notification_template
		WHERE  event_type IN ('digest', $1 || '.digest')
		LIMIT  $2`

	var found notification.Digest
	batch := &pgx.Batch{}
	queueEndedItems(batch, digestID, &found)
	QueueEach(batch, []any{&found.Locale}, func() {}, locale, key.UserType, key.UserID)
	QueueInto(batch, &found.Templates, pgx.RowToStructByName, templates, key.EventType, MaxRowsPerEventType)
	return found, Wrap(s.Pool.SendBatch(ctx, batch).Close(), "read digest")
}

// queueEndedItems reads which items an earlier attempt sent, and which items the rules
// dropped.
func queueEndedItems(batch *pgx.Batch, digestID string, into *notification.Digest) {
	const query = `
		SELECT delivery_id, status <> 'CANCELLED', coalesce(last_error, '')
		FROM   notification
		WHERE  digest_id = $1
		AND    (status IN ('SENT', 'DELIVERED', 'CANCELLED') OR receipt_failed)`

	var id, reason string
	var sent bool
	QueueEach(batch, []any{&id, &sent, &reason}, func() {
		if sent {
			into.Sent++
			return
		}
		if into.Dropped == nil {
			into.Dropped = map[string]string{}
		}
		into.Dropped[id] = reason
	}, query, digestID)
}
