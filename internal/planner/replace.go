package planner

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/cancel"
	"herald/internal/db"
	"herald/internal/notification"
)

const (
	// lockVersions makes events of the type $1 with the collapse key $2 take turns.
	lockVersions = `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'collapse_key', $1::text, $2::text), 0))`

	// versions are the deliveries n of such events to the recipients of $3 and $4, without replaced
	// deliveries.
	versions = `
		FROM  (SELECT DISTINCT user_type, user_id FROM unnest($3::text[], $4::text[]) AS r (user_type, user_id)) r
		JOIN   notification n USING (user_type, user_id)
		WHERE  n.event_type = $1
		AND    n.collapse_key = $2
		AND    n.replaced_by IS NULL`

	// lockDeliveries prevents new attempts at these deliveries, and new escalations, until the
	// transaction ends.
	lockDeliveries = `
		SELECT n.id` + versions + `
		ORDER BY n.id
		FOR UPDATE OF n`

	// replaceOlder replaces all deliveries of a recipient except the newest event's, and returns their ids. A
	// delivery that throttles the newest event stays, since the recipient gets it instead.
	replaceOlder = `
		WITH version AS (
			SELECT n.*, first_value(n.event_id) OVER newest AS by, first_value(n.collapse_seq) OVER newest AS by_seq` + versions + `
			WINDOW newest AS (PARTITION BY n.user_type, n.user_id ORDER BY n.collapse_seq DESC)
		), older AS (
			SELECT v.id, v.by, v.escalates
			FROM   version v
			WHERE  v.collapse_seq < v.by_seq
			AND    NOT EXISTS (
			           SELECT FROM notification_decision d
			           WHERE  (d.event_id, d.user_type, d.user_id) = (v.by, v.user_type, v.user_id)
			           AND    d.throttled_by ->> v.channel = v.delivery_id)
		), replaced AS (
			UPDATE notification n
			SET    replaced_by = o.by,
			       escalates   = false
			FROM   older o
			WHERE  n.id = o.id
			RETURNING n.id, n.delivery_id, o.escalates
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'ESCALATION' FROM replaced WHERE escalates
			RETURNING pg_notify('delivery_follow_up', '')
		)
		SELECT id FROM replaced CROSS JOIN (SELECT count(*) FROM told) AS t`
)

// replace replaces older events with the event's collapse key, for the recipients of rows, and cancels
// their deliveries that wait. Call it after lockPlan and after the rows are stored, in the same
// transaction: if a newer event was planned earlier, it replaces the rows.
func replace(ctx context.Context, tx pgx.Tx, event notification.Event, rows []plannedRow) error {
	if event.CollapseKey == "" || len(rows) == 0 {
		return nil
	}
	userTypes, userIDs := make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		userTypes[i], userIDs[i] = string(r.UserType), r.UserID
	}
	ids, err := db.Collect(ctx, tx, "replace older events", pgx.RowTo[int64], replaceOlder, event.Type, event.CollapseKey, userTypes, userIDs)
	if err == nil && len(ids) > 0 {
		_, err = cancel.Cancellation{Tell: true}.Locked(ctx, tx, ids) // the reason is the replacement
	}
	return err
}
