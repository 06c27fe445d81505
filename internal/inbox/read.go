package inbox

import (
	"context"

	"herald/internal/db"
	"herald/internal/notification"
)

// arrived sets the columns of a WEBSOCKET row n that a client has received. A status only
// climbs. The acknowledgement may come before the end of the attempt is recorded. It may
// also follow a cancellation, or an attempt without a clear answer. In these cases, the row enters the
// inbox now. A row that is in the inbox keeps its place.
const arrived = `status       = 'DELIVERED',
			       sent_at      = coalesce(n.sent_at, now()),
			       delivered_at = coalesce(n.delivered_at, now()),
			       available_at = coalesce(n.available_at, now()),
			       last_error   = NULL`

// wakeFollowUps wakes the follow-up worker if the statement stored a follow-up.
const wakeFollowUps = `SELECT pg_notify('delivery_follow_up', '') FROM told LIMIT 1`

// MarkDelivered records that notifications have reached their recipients, in one statement.
// It ignores a notification of another recipient, without an attempt, or that arrived before.
func (s Store) MarkDelivered(ctx context.Context, acknowledgements []notification.Acknowledgement) error {
	const query = `
		WITH found AS (
			SELECT n.id
			FROM   notification_state n
			JOIN   jsonb_to_recordset($1) AS a ("ID" bigint, "UserType" text, "UserID" text)
			       ON (a."ID", a."UserType", a."UserID") = (n.id, n.user_type, n.user_id)
			WHERE  n.channel = 'WEBSOCKET'
			AND    n.attempt_count > 0
			AND    n.status <> 'DELIVERED'
			ORDER BY n.id -- the order of other gateways, which may get the same acknowledgements
			FOR NO KEY UPDATE OF n
		), acknowledged AS (
			UPDATE notification_state n
			SET    ` + arrived + `
			FROM   found f
			WHERE  n.id = f.id
			RETURNING n.delivery_id, n.escalates
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'ESCALATION'
			FROM   acknowledged
			WHERE  escalates
			RETURNING 1
		)
		` + wakeFollowUps

	return s.Exec(ctx, "acknowledge notifications", query, acknowledgements)
}

// readChosen continues a query that has chosen WEBSOCKET rows n of the recipient, $1 and
// $2. A recipient who reads one notification of an event has read all their notifications
// about the event: an escalation waits until the recipient knows of the event, over any
// channel. Only WEBSOCKET rows also count as arrived. The first time stays.
const readChosen = `), related AS (
			SELECT r.id, r.event_id, r.delivery_id, r.escalates
			FROM   chosen c
			JOIN   notification_state r ON r.event_id = c.event_id AND r.user_type = $1 AND r.user_id = $2
		), found AS (
			SELECT n.id
			FROM   notification_state n
			WHERE  n.id = ANY (ARRAY (SELECT id FROM related))
			AND    n.read_at IS NULL
			AND    n.attempt_count > 0
			AND    (n.status IN ('SENT', 'DELIVERED') OR (n.channel = 'WEBSOCKET' AND n.status <> 'CANCELLED'))
			ORDER BY n.id
			FOR NO KEY UPDATE
		), live AS (
			UPDATE notification_state n
			SET    read_at      = now(),
			       ` + arrived + `
			FROM   found f
			WHERE  n.id = f.id
			AND    n.channel = 'WEBSOCKET'
			RETURNING n.event_id
		), elsewhere AS (
			UPDATE notification_state n
			SET    read_at = now()
			FROM   found f
			WHERE  n.id = f.id
			AND    n.channel <> 'WEBSOCKET'
			RETURNING n.event_id
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'ESCALATION'
			FROM   related
			WHERE  escalates
			AND    event_id IN (SELECT event_id FROM live UNION ALL SELECT event_id FROM elsewhere)
			RETURNING 1
		)
		SELECT (SELECT count(*) FROM chosen), (SELECT count(*) FROM live), (` + wakeFollowUps + `)::text`

// MarkRead records that a recipient has read a notification, and all their notifications of
// its event. The notification also counts as arrived. If it is another recipient's, or not
// visible yet, the error is [notification.ErrNoNotification].
func (s Store) MarkRead(ctx context.Context, who notification.RecipientKey, id int64) error {
	const query = `
		WITH chosen AS (
			SELECT n.event_id
			FROM   notification n
			WHERE  n.id = $3
			AND    n.user_type = $1
			AND    n.user_id = $2
			AND    n.channel = 'WEBSOCKET'
			AND    n.attempt_count > 0
			AND    n.status <> 'CANCELLED'
		` + readChosen

	chosen, _, err := s.read(ctx, query, who.UserType, who.UserID, id)
	if err == nil && chosen == 0 {
		return notification.ErrNoNotification
	}
	return db.Wrap(err, "mark notification as read")
}

// read runs a query that ends with readChosen.
func (s Store) read(ctx context.Context, query string, args ...any) (chosen, read int, err error) {
	var woken *string
	err = s.Pool.QueryRow(ctx, query, args...).Scan(&chosen, &read, &woken)
	return chosen, read, err
}

// readBatch is the number of WEBSOCKET rows that one statement marks as read.
const readBatch = 1000

// MarkAllRead records that a recipient has read a notification and all before it in their
// inbox. If it is another recipient's, the error is [notification.ErrNoNotification].
func (s Store) MarkAllRead(ctx context.Context, who notification.RecipientKey, until int64) error {
	const query = `
		WITH chosen AS (
			SELECT n.event_id
			FROM   notification n
			WHERE  ` + ofRecipient + `
			AND    n.read_at IS NULL
			AND    (n.available_at, n.id) <= ($3, $4)
			ORDER BY n.available_at, n.id
			LIMIT  $5
		` + readChosen

	last, err := s.InboxPositionOf(ctx, who, until)
	for err == nil {
		chosen, read, failed := s.read(ctx, query, who.UserType, who.UserID, last.AvailableAt, last.ID, readBatch)
		if failed == nil && read == 0 && chosen < readBatch { // else another request has read the whole batch
			return nil
		}
		err = db.Wrap(failed, "mark notifications as read")
	}
	return err
}
