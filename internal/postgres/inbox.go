package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

const (
	// inInbox and inboxTime are the condition and the expression of the indexes
	// notification_inbox and notification_unread, which serve no other spelling.
	inInbox   = `n.channel = 'WEBSOCKET' AND (n.available_at IS NOT NULL OR n.status IN ('SENT', 'DELIVERED', 'FAILED'))`
	inboxTime = `coalesce(n.available_at, n.sent_at, n.created_at)`

	// ofRecipient are the rows n of a recipient, $1 and $2, that they may see.
	ofRecipient = `n.user_type = $1
		AND    n.user_id = $2
		AND    ` + inInbox + `
		AND    n.status <> 'CANCELLED'
		AND    n.attempt_count > 0 -- else it was given up without an attempt
		AND    n.title IS NOT NULL`

	// inboxItem is a row n, as [scanInboxItem] reads it.
	inboxItem = `n.delivery_id, n.id, n.event_id, n.event_type, coalesce(n.correlation_id, ''), n.user_type, n.user_id,
		       n.title, n.body, n.created_at, ` + inboxTime + ` AS available, n.read_at`
)

// InboxPage reads a page of a recipient's inbox, the newest first. Where Before is not
// theirs, the error is [notification.ErrNoNotification].
func (s *Store) InboxPage(ctx context.Context, who notification.RecipientKey, filter notification.InboxFilter) ([]notification.InboxItem, error) {
	const query = `
		SELECT ` + inboxItem + `
		FROM   notification n
		WHERE  ` + ofRecipient
	const newestFirst = `
		ORDER BY ` + inboxTime + ` DESC, n.id DESC
		LIMIT  $3`

	condition, args := "", []any{who.UserType, who.UserID, filter.Limit}
	if filter.Unread {
		condition += `
		AND    n.read_at IS NULL`
	}
	if filter.Before != 0 {
		before, err := s.InboxPositionOf(ctx, who, filter.Before)
		if err != nil {
			return nil, err
		}
		condition += `
		AND    (` + inboxTime + `, n.id) < ($4, $5)`
		args = append(args, before.AvailableAt, before.ID)
	}
	return collect(ctx, s.Pool, "read inbox", scanInboxItem, query+condition+newestFirst, args...)
}

// InboxAfter reads what came into a recipient's inbox after a position, the oldest first.
// A row may become visible a moment after one that is behind it in this order.
func (s *Store) InboxAfter(ctx context.Context, who notification.RecipientKey, after notification.InboxPosition, limit int) ([]notification.InboxItem, error) {
	const query = `
		SELECT ` + inboxItem + `
		FROM   notification n
		WHERE  ` + ofRecipient + `
		AND    (` + inboxTime + `, n.id) > ($3, $4)
		ORDER BY ` + inboxTime + `, n.id
		LIMIT  $5`

	return collect(ctx, s.Pool, "read inbox", scanInboxItem, query, who.UserType, who.UserID, after.AvailableAt, after.ID, limit)
}

// UnreadItems reads the newest that a recipient has not read, in the order of
// [Store.InboxAfter].
func (s *Store) UnreadItems(ctx context.Context, who notification.RecipientKey, limit int) ([]notification.InboxItem, error) {
	const query = `
		SELECT *
		FROM  (SELECT ` + inboxItem + `
		       FROM   notification n
		       WHERE  ` + ofRecipient + `
		       AND    n.read_at IS NULL
		       ORDER BY ` + inboxTime + ` DESC, n.id DESC
		       LIMIT  $3) AS newest
		ORDER BY available, id`

	return collect(ctx, s.Pool, "read unread notifications", scanInboxItem, query, who.UserType, who.UserID, limit)
}

// Unread counts what a recipient has not read, up to [notification.MaxUnread].
func (s *Store) Unread(ctx context.Context, who notification.RecipientKey) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   notification n
		       WHERE  ` + ofRecipient + `
		       AND    n.read_at IS NULL
		       LIMIT  $3) AS unread`

	var count int
	err := s.Pool.QueryRow(ctx, query, who.UserType, who.UserID, notification.MaxUnread).Scan(&count)
	return count, wrap(err, "count unread notifications")
}

// InboxPositionOf reads where a notification stands in its recipient's inbox. One that
// was sent, and whose end is not recorded yet, stands where its attempts began. Where it
// is not theirs, the error is [notification.ErrNoNotification].
func (s *Store) InboxPositionOf(ctx context.Context, who notification.RecipientKey, id int64) (notification.InboxPosition, error) {
	const query = `
		SELECT coalesce(n.available_at, n.sent_at, CASE WHEN n.status IN ('PENDING', 'CANCELLED') THEN (
		           SELECT min(a.started_at)
		           FROM   delivery_attempt a
		           WHERE  a.delivery_id = n.delivery_id) END, n.created_at)
		FROM   notification n
		WHERE  n.id = $3
		AND    n.user_type = $1
		AND    n.user_id = $2
		AND    n.channel = 'WEBSOCKET'`

	position := notification.InboxPosition{ID: id}
	err := s.Pool.QueryRow(ctx, query, who.UserType, who.UserID, id).Scan(&position.AvailableAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.InboxPosition{}, notification.ErrNoNotification
	}
	return position, wrap(err, "find place in inbox")
}

func scanInboxItem(row pgx.CollectableRow) (notification.InboxItem, error) {
	var m notification.Message
	var item notification.InboxItem
	err := row.Scan(&m.DeliveryID, &m.NotificationID, &m.EventID, &m.EventType, &m.CorrelationID, &m.UserType, &m.UserID,
		&m.Title, &m.Body, &m.CreatedAt, &item.AvailableAt, &item.ReadAt)
	item.Frame, item.AvailableAt = m.Frame(), item.AvailableAt.UTC()
	if item.ReadAt != nil {
		read := item.ReadAt.UTC()
		item.ReadAt = &read
	}
	return item, err
}
