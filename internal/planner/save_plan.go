package planner

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

const (
	// insertPlan takes the decisions as $3 and the deliveries as $4. A delivery that has a
	// problem, or whose id is taken, is not sendable. It is FAILED, has no text and waits
	// for nothing. So its workflow ends at once, and an operator can retry it.
	insertPlan = insertDecisions + `
			ON CONFLICT DO NOTHING` + insertDeliveries + `NULL` + ofDecided
	// InsertFollower does the same for a delivery that follows the delivery $6.
	InsertFollower = insertDecisions + `
			ON CONFLICT (event_id, user_type, user_id) DO UPDATE
			SET    channels = notification_decision.channels || excluded.channels,
			       throttled_by = coalesce(notification_decision.throttled_by || excluded.throttled_by, excluded.throttled_by,
			           notification_decision.throttled_by)` + insertDeliveries + `$6` + ofDecided

	insertDecisions = `
		WITH decided AS (
			INSERT INTO notification_decision (event_id, user_type, user_id, channels, throttled_by)
			SELECT $1, d.user_type, d.user_id, d.channels, d.throttled_by
			FROM   jsonb_to_recordset($3) AS d (user_type text, user_id text, channels jsonb, throttled_by jsonb)
			WHERE  NOT EXISTS (SELECT FROM erased_recipient e
			       WHERE (e.user_type, e.user_id) = (d.user_type, d.user_id)) -- decided from facts older than the erasure`
	insertDeliveries = `
			RETURNING user_type, user_id
		)
		INSERT INTO notification (event_id, event_type, correlation_id, user_type, user_id, entity_type, entity_id, channel, delivery_id,
		                          title, body, url, recipient_address, status, last_error, strategy, priority, send_after, expires_at,
		                              collapse_key, collapse_seq, address_hash, member_role, escalates, escalated_from)
		SELECT $1, $2, nullif($5, ''), p.user_type, p.user_id, nullif(p.entity ->> 'Type', ''), nullif(p.entity ->> 'ID', ''),
		       p.channel, p.delivery_id || other.mark,
		       CASE WHEN other.sendable THEN p.title END,
		       CASE WHEN other.sendable THEN p.body END,
		       CASE WHEN other.sendable THEN nullif(p.url, '') END,
		       nullif(p.address, ''),
		       CASE WHEN other.sendable THEN 'PENDING' ELSE 'FAILED' END,
		       CASE WHEN other.mark = '' THEN nullif(p.problem, '')
		           ELSE format('the id %s is taken by the delivery of event %s to %s/%s', p.delivery_id, other.event_id, other.user_type,
		               other.user_id) END,
		       p.strategy, p.priority,
		       CASE WHEN other.sendable THEN p.send_after END,
		       p.expires_at,
		       (SELECT o.collapse_key FROM event_outbox o WHERE o.event_id = $1),
		       (SELECT o.seq FROM event_outbox o WHERE o.event_id = $1 AND o.collapse_key IS NOT NULL),
		       decode(nullif(p.address_hash, ''), 'hex'),
		       nullif(p.member_role, ''),
		       p.strategy <> 'AGGREGATE' AND EXISTS (SELECT FROM event_type_escalation x WHERE x.event_type = $2 AND x.from_channel = p.channel),
		       `
	ofDecided = `
		FROM   jsonb_to_recordset($4) AS p (user_type text, user_id text, entity jsonb, channel text, delivery_id text,
		                                    title text, body text, url text, address text, problem text, strategy text, priority text,
		                                        send_after timestamptz, expires_at timestamptz, address_hash text, member_role text)
		JOIN   decided USING (user_type, user_id)
		LEFT JOIN notification n ON n.delivery_id = p.delivery_id AND (n.event_id, n.user_type, n.user_id) <> ($1, p.user_type, p.user_id)
		CROSS JOIN LATERAL (
			SELECT CASE WHEN n.id IS NULL THEN '' ELSE '~' END AS mark, n.id IS NULL AND p.problem = '' AS sendable, n.event_id, n.user_type,
			       n.user_id
		) AS other
		ON CONFLICT (event_id, user_type, user_id, channel) DO NOTHING -- planned before its decision was purged`
	// NumberTaken looks up each id separately: an event may have a million rows.
	NumberTaken = `
		UPDATE notification n
		SET    delivery_id = n.delivery_id || n.id
		FROM  (SELECT o.id
		       FROM   unnest((SELECT $1::text[])) AS p (delivery_id)
		       CROSS JOIN LATERAL (
		           SELECT id
		           FROM   notification
		           WHERE  delivery_id = p.delivery_id || '~'
		           OFFSET 0
		       ) o
		       OFFSET 0) AS taken
		WHERE  n.id = taken.id`
)

// SavePlan stores the decisions about a page of recipients, and their deliveries, in one
// transaction and one round trip.
//
// Decisions are immutable: a repeat, after a crash or a time-out, stores nothing new.
//
// If two pairs of event and recipient have the same delivery id, the later row is FAILED.
// Its id ends with ~ and its notification.id. Two pairs that are planned at the same moment
// cannot see each other. Then the insert fails, and a repeat sees the other row. The same holds for two
// recipients with one address, if the route tells each address once.
func (s Store) SavePlan(ctx context.Context, event notification.Event, page []notification.DecidedRecipient) error {
	if event.CollapseKey == "" {
		return db.Wrap(s.Pool.SendBatch(ctx, planBatch(event, page)).Close(), "save plan")
	}
	var people notification.RecipientPage
	for _, r := range page {
		people.Recipients = append(people.Recipients, notification.Recipient{UserType: r.UserType, UserID: r.UserID})
	}
	return s.SaveLockedPlan(ctx, event, people, nil, func(notification.Used) ([]notification.DecidedRecipient, error) { return page, nil })
}

// planBatch returns the statements that store a page.
func planBatch(event notification.Event, page []notification.DecidedRecipient) *pgx.Batch {
	page = append([]notification.DecidedRecipient{}, page...) // without recipients: [], not null
	deliveries := PlannedRows(page)
	batch := &pgx.Batch{}
	batch.Queue(insertPlan, event.ID, event.Type, page, deliveries, event.CorrelationID)
	batch.Queue(NumberTaken, IdsOf(deliveries))
	return batch
}

// plannedRow is the JSON form of a delivery for the database.
type plannedRow struct {
	UserType notification.UserType `json:"user_type"`
	UserID   string                `json:"user_id"`
	Entity   notification.Entity   `json:"entity"`

	MemberRole string `json:"member_role"`
	notification.PlannedDelivery
}

func PlannedRows(page []notification.DecidedRecipient) []plannedRow {
	rows := []plannedRow{}
	for _, r := range page {
		for _, d := range r.Deliveries {
			rows = append(rows, plannedRow{r.UserType, r.UserID, r.Entity, r.MemberRole, d})
		}
	}
	return rows
}

func IdsOf(rows []plannedRow) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.DeliveryID
	}
	return ids
}
