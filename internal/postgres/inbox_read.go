package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// arrived sets what a row n of WEBSOCKET has once a client had it: a status only climbs.
// The acknowledgement may come before the end of the attempt is recorded, after an operator
// cancelled it, or after an attempt without a clear answer; then the row comes into the
// inbox now. An older row keeps its place.
const arrived = `status       = 'DELIVERED',
			       sent_at      = coalesce(n.sent_at, now()),
			       delivered_at = coalesce(n.delivered_at, now()),
			       available_at = coalesce(n.available_at, n.sent_at, CASE n.status WHEN 'FAILED' THEN n.created_at ELSE now() END),
			       last_error   = NULL`

// MarkDelivered records that notifications have reached their recipients, in one statement.
// It ignores what is not theirs, what no attempt was begun for, and what has arrived
// before.
func (s *Store) MarkDelivered(ctx context.Context, acknowledgements []notification.Acknowledgement) error {
	const query = `
		WITH found AS (
			SELECT n.id
			FROM   notification n
			JOIN   unnest($1::bigint[], $2::text[], $3::text[]) AS a (id, user_type, user_id) USING (id, user_type, user_id)
			WHERE  n.channel = 'WEBSOCKET'
			AND    n.attempt_count > 0
			AND    n.status <> 'DELIVERED'
			ORDER BY n.id -- as other gateways do, to whom the same may be acknowledged
			FOR NO KEY UPDATE OF n
		)
		UPDATE notification n
		SET    ` + arrived + `
		FROM   found f
		WHERE  n.id = f.id`

	ids := make([]int64, len(acknowledgements))
	userTypes, userIDs := make([]string, len(ids)), make([]string, len(ids))
	for i, a := range acknowledgements {
		ids[i], userTypes[i], userIDs[i] = a.ID, string(a.UserType), a.UserID
	}
	_, err := s.Pool.Exec(ctx, query, ids, userTypes, userIDs)
	return wrap(err, "acknowledge notifications")
}

// MarkRead records that a recipient has read a notification, which has arrived by that.
// The first time stands. Where it is not theirs, or there is nothing to be seen of it yet,
// the error is [notification.ErrNoNotification].
func (s *Store) MarkRead(ctx context.Context, who notification.RecipientKey, id int64) error {
	const query = `
		WITH found AS (
			SELECT n.id, n.read_at
			FROM   notification n
			WHERE  n.id = $3
			AND    n.user_type = $1
			AND    n.user_id = $2
			AND    n.channel = 'WEBSOCKET'
			AND    n.attempt_count > 0
			AND    n.status <> 'CANCELLED'
			FOR NO KEY UPDATE
		), read AS (
			UPDATE notification n
			SET    read_at      = now(),
			       ` + arrived + `
			FROM   found f
			WHERE  n.id = f.id
			AND    f.read_at IS NULL
		)
		SELECT count(*)
		FROM   found`

	var found int
	err := s.Pool.QueryRow(ctx, query, who.UserType, who.UserID, id).Scan(&found)
	if err == nil && found == 0 {
		return notification.ErrNoNotification
	}
	return wrap(err, "mark notification as read")
}

// readBatch is how many rows one statement marks as read.
const readBatch = 1000

// MarkAllRead records that a recipient has read a notification and all that stand before it
// in their inbox. Where that one is not theirs, the error is [notification.ErrNoNotification].
func (s *Store) MarkAllRead(ctx context.Context, who notification.RecipientKey, until int64) error {
	const query = `
		WITH oldest AS (
			SELECT n.id
			FROM   notification n
			WHERE  ` + ofRecipient + `
			AND    n.read_at IS NULL
			AND    (` + inboxTime + `, n.id) <= ($3, $4)
			ORDER BY ` + inboxTime + `, n.id
			LIMIT  $5
		), found AS (
			SELECT n.id
			FROM   notification n
			WHERE  n.id IN (SELECT id FROM oldest)
			AND    n.read_at IS NULL
			ORDER BY n.id
			FOR NO KEY UPDATE
		)
		UPDATE notification n
		SET    read_at      = now(),
		       ` + arrived + `
		FROM   found f
		WHERE  n.id = f.id`

	last, err := s.InboxPositionOf(ctx, who, until)
	for err == nil {
		done, failed := s.Pool.Exec(ctx, query, who.UserType, who.UserID, last.AvailableAt, last.ID, readBatch)
		if failed == nil && done.RowsAffected() == 0 {
			return nil
		}
		err = wrap(failed, "mark notifications as read")
	}
	return err
}

// ActiveRecipients returns those of some recipients who are active, and of a type in
// user_type: nobody else is told anything.
func (s *Store) ActiveRecipients(ctx context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error) {
	const query = `
		SELECT DISTINCT r.user_type, r.user_id
		FROM   unnest($1::text[], $2::text[]) AS w (user_type, user_id)
		JOIN   ` + directoryPerson + ` r USING (user_type, user_id)
		JOIN   user_type u USING (user_type)
		WHERE  r.active`

	userTypes, userIDs := make([]string, len(who)), make([]string, len(who))
	for i, w := range who {
		userTypes[i], userIDs[i] = string(w.UserType), w.UserID
	}
	return collect(ctx, s.Pool, "read active recipients", pgx.RowToStructByPos[notification.RecipientKey], query, userTypes, userIDs)
}
