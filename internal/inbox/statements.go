package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/reason"
)

const (
	// inInbox is the condition of the indexes notification_inbox_newest and notification_unread_newest,
	// which have the order of available_at and id.
	inInbox = `n.channel = 'WEBSOCKET' AND n.available_at IS NOT NULL AND n.replaced_by IS NULL`

	// ofRecipient selects the rows n that a recipient, $1 and $2, may see.
	ofRecipient = `n.user_type = $1
		AND    n.user_id = $2
		AND    ` + inInbox + `
		AND    n.status <> 'CANCELLED'
		AND    n.attempt_count > 0 -- otherwise it was given up without an attempt
		AND    n.title IS NOT NULL`

	notRead = `
		AND    n.read_at IS NULL`
)

// inboxOrder is the order of a page.
type inboxOrder string

const (
	oldestFirst inboxOrder = "ASC"
	newestFirst inboxOrder = "DESC"
)

// page reads the first rows that meet a condition: at most $3 rows, and no more than fit
// into [notification.InboxPageBytes]. JSON turns an escaped byte into six bytes, and 6 KiB
// are enough for all fields except the texts. Postgres knows the length of a text without
// reading the text.
func (s Store) page(
	ctx context.Context, who notification.RecipientKey, condition string, order inboxOrder, limit int, more ...any,
) (notification.InboxPage, error) {
	query := fmt.Sprintf(`
		SELECT delivery_id, id AS notification_id, event_id, event_type, coalesce(correlation_id, '') AS correlation_id, user_type, user_id,
		       title, body, coalesce(url, '') AS url, created_at, coalesce(collapse_key, '') AS collapse_key, available, read_at, found,
		       entity_type, entity_id, entity_name, member_role,
		       coalesce((SELECT r.locale::text FROM recipient r WHERE (r.user_type::text, r.user_id::text) = ($1, $2) LIMIT 1), '') AS locale
		FROM  (SELECT first.*, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY available %[1]s, id %[1]s) AS so_far
		       FROM  (SELECT n.delivery_id, n.id, n.event_id, n.event_type, n.correlation_id, n.user_type, n.user_id,
		                     n.title, n.body, n.url, n.created_at, n.available_at AS available, n.read_at, n.collapse_key,
		                     coalesce(n.entity_type, '') AS entity_type, coalesce(n.entity_id, '') AS entity_id,
		                     coalesce(n.member_role, '') AS member_role, `+db.EntityName+` AS entity_name,
		                     6 * (octet_length(n.title) + octet_length(n.body) + coalesce(octet_length(n.url), 0)) + 6144 AS bytes
		              FROM   notification n
		              WHERE  `+ofRecipient+condition+`
		              ORDER BY n.available_at %[1]s, n.id %[1]s
		              LIMIT  $3) AS first) AS counted
		WHERE  so_far <= %[2]d
		OR     so_far = bytes -- always the first row
		ORDER BY available %[1]s, id %[1]s`, order, notification.InboxPageBytes)

	type row struct {
		notification.Message
		Available time.Time
		ReadAt    *time.Time
		Found     int
	}
	args := append([]any{who.UserType, who.UserID, limit + 1}, more...) // one more row tells whether others follow
	rows, err := db.Collect(ctx, s.Pool, "read inbox", db.ByName[row](), query, args...)
	page := notification.InboxPage{Items: []notification.InboxItem{}}
	for _, row := range rows[:min(len(rows), limit)] {
		row.Reason = reason.OfMessage(row.Message).Sentence(row.Locale)
		item := notification.InboxItem{Frame: row.Frame(), AvailableAt: row.Available}
		if row.ReadAt != nil {
			item.ReadAt = new(row.ReadAt.UTC())
		}
		page.Items = append(page.Items, item)
	}
	page.More = len(rows) > 0 && rows[0].Found > len(page.Items)
	return page, err
}

// InboxPage reads a page of a recipient's inbox, newest first. If Before is not a
// notification of the recipient, the error is [notification.ErrNoNotification].
func (s Store) InboxPage(
	ctx context.Context, who notification.RecipientKey, filter notification.InboxFilter,
) (notification.InboxPage, error) {
	var condition string
	var args []any
	if filter.Unread {
		condition += notRead
	}
	if filter.Before != 0 {
		before, err := s.InboxPositionOf(ctx, who, filter.Before)
		if err != nil {
			return notification.InboxPage{}, err
		}
		condition += `
		AND    (n.available_at, n.id) < ($4, $5)`
		args = append(args, before.AvailableAt, before.ID)
	}
	return s.page(ctx, who, condition, newestFirst, filter.Limit, args...)
}

// InboxAfter reads the notifications after a position in a recipient's inbox, oldest first.
// With unread, it reads only unread ones. A row may become visible a moment after a later row
// in this order.
func (s Store) InboxAfter(
	ctx context.Context, who notification.RecipientKey, after notification.InboxPosition, unread bool, limit int,
) (notification.InboxPage, error) {
	condition := `
		AND    (n.available_at, n.id) > ($4, $5)`
	if unread {
		condition += notRead
	}
	return s.page(ctx, who, condition, oldestFirst, limit, after.AvailableAt, after.ID)
}

// UnreadPosition reads the position after which a recipient has count unread notifications;
// zero: there are no more than count.
func (s Store) UnreadPosition(ctx context.Context, who notification.RecipientKey, count int) (notification.InboxPosition, error) {
	const query = `
		SELECT n.available_at, n.id
		FROM   notification n
		WHERE  ` + ofRecipient + notRead + `
		ORDER BY n.available_at DESC, n.id DESC
		OFFSET $3
		LIMIT  1`

	position, err := db.One(ctx, s.Pool, "find unread notifications", pgx.RowToStructByPos[notification.InboxPosition], query, who.UserType,
		who.UserID, count)
	return position, db.IgnoreNoRows(err)
}

// Unread counts a recipient's unread notifications, up to [notification.MaxUnread].
func (s Store) Unread(ctx context.Context, who notification.RecipientKey) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   notification n
		       WHERE  ` + ofRecipient + notRead + `
		       LIMIT  $3) AS unread`

	return db.One(ctx, s.Pool, "count unread notifications", pgx.RowTo[int], query, who.UserType, who.UserID, notification.MaxUnread)
}

// InboxPositionOf reads the position of a notification in its recipient's inbox. If the end
// of its attempt is not recorded yet, the position is the start of its attempts. If the
// notification is not the recipient's, the error is [notification.ErrNoNotification].
func (s Store) InboxPositionOf(ctx context.Context, who notification.RecipientKey, id int64) (notification.InboxPosition, error) {
	const query = `
		SELECT coalesce(n.available_at, CASE WHEN n.status IN ('PENDING', 'CANCELLED') THEN least(n.attempt_began, (
		           SELECT min(a.started_at)
		           FROM   delivery_attempt a
		           WHERE  a.delivery_id = n.delivery_id)) END, n.created_at)
		FROM   notification n
		WHERE  n.id = $3
		AND    n.user_type = $1
		AND    n.user_id = $2
		AND    n.channel = 'WEBSOCKET'`

	position := notification.InboxPosition{ID: id}
	err := s.Pool.QueryRow(ctx, query, who.UserType, who.UserID, id).Scan(&position.AvailableAt)
	return position, db.NoRowsAs(db.Wrap(err, "find place in inbox"), notification.ErrNoNotification)
}
