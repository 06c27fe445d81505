package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DigestItems reads which deliveries a digest is still to list, in their order.
func (s *Store) DigestItems(ctx context.Context, digestID string) ([]string, error) {
	const query = `
		SELECT delivery_id
		FROM   notification
		WHERE  digest_id = $1
		AND    status = 'PENDING'
		ORDER BY id
		LIMIT  $2`

	return collect(ctx, s.Pool, "read the items of a digest", pgx.RowTo[string], query, digestID, notification.MaxDigestItems)
}

// ReadDigest reads how the other items of a digest ended, and what its text takes, in one
// round trip. What an operator cancels leaves its digest.
func (s *Store) ReadDigest(ctx context.Context, digestID string, key notification.DigestKey) (notification.Digest, error) {
	const locale = `
		SELECT coalesce(r.locale, '')
		FROM   ` + directoryRecipient + ` r
		WHERE  r.user_type = $1
		AND    r.user_id = $2
		LIMIT  1`
	const templates = `
		SELECT event_type, channel, locale, title, body
		FROM   notification_template
		WHERE  event_type IN ('digest', $1 || '.digest')
		LIMIT  $2`

	var found notification.Digest
	batch := &pgx.Batch{}
	queueEndedItems(batch, digestID, &found)
	batch.Queue(locale, key.UserType, key.UserID).QueryRow(func(row pgx.Row) error { return ignoreNoRows(row.Scan(&found.Locale)) })
	queueInto(batch, &found.Templates, templates, key.EventType, maxRowsPerEventType)
	return found, wrap(s.Pool.SendBatch(ctx, batch).Close(), "read digest")
}

// queueEndedItems reads which items an earlier attempt sent, and which the rules dropped.
func queueEndedItems(batch *pgx.Batch, digestID string, into *notification.Digest) {
	const query = `
		SELECT delivery_id, status <> 'CANCELLED', coalesce(last_error, '')
		FROM   notification
		WHERE  digest_id = $1
		AND    (status IN ('SENT', 'DELIVERED', 'CANCELLED') OR receipt_failed)`

	batch.Queue(query, digestID).Query(func(rows pgx.Rows) error {
		var id, reason string
		var sent bool
		_, err := pgx.ForEachRow(rows, []any{&id, &sent, &reason}, func() error {
			if sent {
				into.Sent++
				return nil
			}
			if into.Dropped == nil {
				into.Dropped = map[string]string{}
			}
			into.Dropped[id] = reason
			return nil
		})
		return err
	})
}
