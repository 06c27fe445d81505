package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// BeginDigest counts an attempt at each item of a digest that was not cancelled,
// as [Store.BeginAttempt] does, and returns what to send. Where there is nothing,
// it may have been sent by an attempt that died before it could say so.
//
// Each item is judged by the rules as they are now. One that may not be told any
// more is CANCELLED here, and is among the dropped of this attempt and of those
// that follow.
func (s *Store) BeginDigest(ctx context.Context, in notification.BeginDigest) (notification.DigestAttempt, error) {
	key := in.Key
	attempt := notification.DigestAttempt{Recipient: notification.Recipient{UserType: key.UserType, UserID: key.UserID}}
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		items, err := s.lockAttemptFacts(ctx, tx, "n.digest_id = $1 AND n.status = 'PENDING'", in.DigestID)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		address := queueDropped(batch, items, in.JudgeQuiet)
		queueDigest(batch, in.DigestID, key, address, &attempt)
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return notification.DigestAttempt{}, fmt.Errorf("begin digest: %w", err)
	}
	m := &attempt.Message
	m.DeliveryID, m.EventType, m.UserType, m.UserID, m.Name = in.DigestID, key.EventType, key.UserType, key.UserID, attempt.Recipient.Name
	return attempt, nil
}

// queueDropped cancels the items that the rules do not allow any more, and returns
// the address of the recipient, whom they have in common.
func queueDropped(batch *pgx.Batch, items []attemptFacts, judgeQuiet bool) (address string) {
	const query = `
		UPDATE notification n
		SET    status     = 'CANCELLED',
		       last_error = d.reason
		FROM   unnest($1::text[], $2::text[]) AS d (delivery_id, reason)
		WHERE  n.delivery_id = d.delivery_id`

	var ids, reasons []string
	for _, item := range items {
		address = item.Recipient.Address(item.Channel)
		item.JudgeQuiet = judgeQuiet
		if verdict := item.Judge(item.now); verdict.Dropped != "" {
			ids, reasons = append(ids, item.DeliveryID), append(reasons, verdict.Dropped)
		}
	}
	if len(ids) > 0 {
		batch.Queue(query, ids, reasons)
	}
	return address
}

func queueDigest(batch *pgx.Batch, digestID string, key notification.DigestKey, address string, attempt *notification.DigestAttempt) {
	const begin = begun + `n.digest_id = $4
			AND    n.status = 'PENDING'` + began + `
		SELECT n.delivery_id, n.attempt_count, n.event_id, n.title, n.body, n.created_at, coalesce(n.recipient_address, ''), ` + tried + `
		FROM   begun n
		ORDER BY n.id`
	const before = `
		SELECT count(*)
		FROM   notification
		WHERE  digest_id = $1
		AND    (status IN ('SENT', 'DELIVERED') OR receipt_failed)`
	const recipient = `
		SELECT coalesce(r.name, ''), coalesce(r.locale, ''),
		       CASE WHEN $3 = 'PUSH' THEN ARRAY (
		           SELECT DISTINCT d.token
		           FROM   ` + directoryDevice + ` d
		           WHERE  d.user_type = r.user_type AND d.user_id = r.user_id AND d.active
		           ORDER BY d.token
		           LIMIT  $4) END,
		       CASE WHEN $3 = 'PUSH' THEN coalesce(p.push_kind, '') ELSE '' END,
		       coalesce(u.audience, ''),
		       coalesce(g.category, ''),
		       coalesce(NOT p.mandatory, false)
		FROM   ` + directoryRecipient + ` r
		LEFT JOIN user_type u USING (user_type)
		LEFT JOIN event_type_channel_routing p ON (p.event_type, p.channel_type) = ($5, $3)
		LEFT JOIN event_category g ON g.event_type = $5
		WHERE  r.user_type = $1
		AND    r.user_id = $2
		LIMIT  1`
	const templates = `
		SELECT event_type, channel, locale, title, body
		FROM   notification_template
		WHERE  event_type IN ('digest', $1 || '.digest')
		LIMIT  $2`

	batch.Queue(begin, 0, true, address, digestID).Query(func(rows pgx.Rows) error { return attemptItems(rows, attempt) })
	batch.Queue(before, digestID).QueryRow(func(row pgx.Row) error { return row.Scan(&attempt.Sent) })
	queueDroppedItems(batch, digestID, attempt)
	batch.Queue(recipient, key.UserType, key.UserID, key.Channel, maxDevices, key.EventType).QueryRow(func(row pgx.Row) error {
		r, m := &attempt.Recipient, &attempt.Message
		return ignoreNoRows(row.Scan(&r.Name, &r.Locale, &m.Devices, &m.PushKind, &m.Audience, &m.Category, &m.Optional))
	})
	queueInto(batch, &attempt.Templates, templates, key.EventType, maxRowsPerEventType)
}

// attemptItems reads the items of a digest. Where they differ in how often they
// were tried, the least tried one counts.
func attemptItems(rows pgx.Rows, attempt *notification.DigestAttempt) error {
	var item notification.DigestItem
	var tried notification.Tried
	fields := []any{
		&item.DeliveryID, &item.Attempt, &item.EventID, &item.Title, &item.Body, &item.CreatedAt, &attempt.Message.To,
		&tried.Begun, &tried.Ended, &tried.Crashed, &tried.Rejected,
	}
	_, err := pgx.ForEachRow(rows, fields, func() error {
		if len(attempt.Items) == 0 || tried.Begun < attempt.Begun {
			attempt.Tried = tried
		}
		attempt.Items = append(attempt.Items, item)
		attempt.Message.CreatedAt = item.CreatedAt
		return nil
	})
	return err
}

// queueDroppedItems reads what was dropped. What an operator cancels leaves its
// digest.
func queueDroppedItems(batch *pgx.Batch, digestID string, attempt *notification.DigestAttempt) {
	const query = `
		SELECT delivery_id, coalesce(last_error, '')
		FROM   notification
		WHERE  digest_id = $1
		AND    status = 'CANCELLED'`

	batch.Queue(query, digestID).Query(func(rows pgx.Rows) error {
		var id, reason string
		_, err := pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
			if attempt.Dropped == nil {
				attempt.Dropped = map[string]string{}
			}
			attempt.Dropped[id] = reason
			return nil
		})
		return err
	})
}
