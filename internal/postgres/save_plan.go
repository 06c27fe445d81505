package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// SavePlan stores the decisions about a page of recipients, and their
// deliveries, in one transaction and one round trip. It returns the deliveries,
// and where they are in notification.
//
// What was decided once stands: a repeat, after a crash or a time-out, stores
// nothing new and returns what the first call stored.
//
// Where two pairs of event and recipient spell one delivery id, the later row is
// FAILED, and its id has ~ and its notification.id at its end. Two that are
// planned at the same moment cannot see each other: then the insert fails, and
// a repeat sees what the other has stored.
func (s *Store) SavePlan(ctx context.Context, event notification.Event, page []notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange, error) {
	const insert = `
		WITH decided AS (
			INSERT INTO notification_decision (event_id, user_type, user_id, channels)
			SELECT $1, d.user_type, d.user_id, d.channels
			FROM   jsonb_to_recordset($3) AS d (user_type text, user_id text, channels jsonb)
			ON CONFLICT DO NOTHING
			RETURNING user_type, user_id
		)
		INSERT INTO notification (event_id, event_type, correlation_id, user_type, user_id, entity_type, entity_id, channel, delivery_id,
		                          title, body, recipient_address, status, last_error, strategy, priority, send_after)
		SELECT $1, $2, nullif($5, ''), p.user_type, p.user_id, p.entity_type, p.entity_id, p.channel, p.delivery_id || other.mark,
		       CASE WHEN other.mark = '' THEN p.title END,
		       CASE WHEN other.mark = '' THEN p.body END,
		       p.address,
		       CASE WHEN other.mark = '' THEN p.status ELSE 'FAILED' END,
		       CASE WHEN other.mark = '' THEN p.problem ELSE format('the id %s is taken by the delivery of event %s to %s/%s', p.delivery_id, other.event_id, other.user_type, other.user_id) END,
		       p.strategy, p.priority, p.send_after
		FROM   jsonb_to_recordset($4) AS p (user_type text, user_id text, entity_type text, entity_id text, channel text, delivery_id text,
		                                    title text, body text, address text, status text, problem text, strategy text, priority text, send_after timestamptz)
		JOIN   decided USING (user_type, user_id)
		LEFT JOIN notification n ON n.delivery_id = p.delivery_id AND (n.event_id, n.user_type, n.user_id) <> ($1, p.user_type, p.user_id)
		CROSS JOIN LATERAL (SELECT CASE WHEN n.id IS NULL THEN '' ELSE '~' END AS mark, n.event_id, n.user_type, n.user_id) AS other
		ON CONFLICT (event_id, user_type, user_id, channel) DO NOTHING -- planned before its decision was purged`
	const number = `
		UPDATE notification
		SET    delivery_id = delivery_id || id
		WHERE  event_id = $1
		AND    delivery_id IN (SELECT p.delivery_id || '~' FROM jsonb_to_recordset($2) AS p (delivery_id text))`
	const readBack = `
		SELECT n.*, coalesce(r.timezone, 'UTC')
		FROM   jsonb_to_recordset($2) AS d (user_type text, user_id text)
		CROSS JOIN LATERAL (
			SELECT id, delivery_id, channel, user_type, user_id, priority, send_after, strategy
			FROM   notification
			WHERE  event_id = $1
			AND    user_type = d.user_type
			AND    user_id = d.user_id
			OFFSET 0 -- keeps the planner from reading a whole broadcast for one page of it
		) n
		LEFT JOIN recipient r ON r.user_type = n.user_type AND r.user_id = n.user_id
		ORDER BY n.id`

	decisions, deliveries, err := planRows(page)
	if err != nil {
		return nil, notification.IDRange{}, err
	}
	var plan []notification.Delivery
	var ids notification.IDRange
	batch := &pgx.Batch{}
	batch.Queue(insert, event.ID, event.Type, decisions, deliveries, event.CorrelationID)
	batch.Queue(number, event.ID, deliveries)
	batch.Queue(readBack, event.ID, decisions).Query(func(rows pgx.Rows) (err error) {
		plan, ids, err = collectDeliveries(rows)
		return err
	})
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, notification.IDRange{}, fmt.Errorf("save plan: %w", err)
	}
	return plan, ids, nil
}

// decisionRow and deliveryRow are the JSON forms in which a page travels to the
// database; absent fields become nulls.
type decisionRow struct {
	UserType notification.UserType                          `json:"user_type"`
	UserID   string                                         `json:"user_id"`
	Channels map[notification.Channel]notification.Decision `json:"channels"`
}

type deliveryRow struct {
	UserType   notification.UserType `json:"user_type"`
	UserID     string                `json:"user_id"`
	EntityType string                `json:"entity_type,omitempty"`
	EntityID   string                `json:"entity_id,omitempty"`
	Channel    notification.Channel  `json:"channel"`
	DeliveryID string                `json:"delivery_id"`
	Title      *string               `json:"title,omitempty"`
	Body       *string               `json:"body,omitempty"`
	Address    string                `json:"address,omitempty"`
	Status     notification.Status   `json:"status"`
	Problem    string                `json:"problem,omitempty"`
	Strategy   notification.Strategy `json:"strategy"`
	Priority   notification.Priority `json:"priority"`
	SendAfter  time.Time             `json:"send_after,omitzero"`
}

func planRows(page []notification.DecidedRecipient) (decisions, deliveries []byte, err error) {
	decided := make([]decisionRow, 0, len(page))
	planned := []deliveryRow{}
	for _, r := range page {
		decided = append(decided, decisionRow{r.UserType, r.UserID, r.Decisions})
		for _, d := range r.Deliveries {
			row := deliveryRow{
				UserType: r.UserType, UserID: r.UserID, EntityType: r.Entity.Type, EntityID: r.Entity.ID,
				Channel: d.Channel, DeliveryID: d.DeliveryID, Address: d.Address,
				Status: notification.Pending, Strategy: d.Strategy, Priority: d.Priority, SendAfter: d.SendAfter,
			}
			if d.Problem != "" {
				row.Status, row.Problem = notification.Failed, d.Problem
			} else {
				row.Title, row.Body = &d.Title, &d.Body
			}
			planned = append(planned, row)
		}
	}
	if decisions, err = json.Marshal(decided); err != nil {
		return nil, nil, fmt.Errorf("encode decisions: %w", err)
	}
	if deliveries, err = json.Marshal(planned); err != nil {
		return nil, nil, fmt.Errorf("encode deliveries: %w", err)
	}
	return decisions, deliveries, nil
}
