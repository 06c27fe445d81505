package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// EventRules reads an event and all that was configured for its type, in one
// round trip. Where there is no such event, the error is [notification.ErrNoEvent].
func (s *Store) EventRules(ctx context.Context, eventID string) (notification.EventRules, error) {
	rules := notification.EventRules{Supported: map[notification.Channel][]notification.UserType{}}
	batch := &pgx.Batch{}
	queueEvent(batch, eventID, &rules.Event)
	queueRecipientRules(batch, eventID, &rules.Recipients)
	queueRouting(batch, eventID, &rules.Routing)
	queueSupported(batch, rules.Supported)
	queueTemplates(batch, eventID, &rules.Templates)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return notification.EventRules{}, fmt.Errorf("read rules of event: %w", err)
	}
	return rules, nil
}

// Event reads an event and the rows that name its recipients. Where there is no
// such event, the error is [notification.ErrNoEvent].
func (s *Store) Event(ctx context.Context, eventID string) (notification.Event, []notification.RecipientRule, error) {
	var event notification.Event
	var rules []notification.RecipientRule
	batch := &pgx.Batch{}
	queueEvent(batch, eventID, &event)
	queueRecipientRules(batch, eventID, &rules)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return notification.Event{}, nil, fmt.Errorf("read event: %w", err)
	}
	return event, rules, nil
}

func queueEvent(batch *pgx.Batch, eventID string, event *notification.Event) {
	const query = `
		SELECT event_id, event_type, aggregate_type, aggregate_id, payload, coalesce(correlation_id, ''), created_at
		FROM   event_outbox
		WHERE  event_id = $1`

	batch.Queue(query, eventID).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&event.ID, &event.Type, &event.AggregateType, &event.AggregateID, &event.Payload, &event.CorrelationID, &event.CreatedAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return notification.ErrNoEvent
		}
		return err
	})
}

// maxRulesPerEventType bounds what one event type can make a worker hold. It is
// far above what a person would configure.
const maxRulesPerEventType = 1000

func queueRecipientRules(batch *pgx.Batch, eventID string, rules *[]notification.RecipientRule) {
	const query = `
		SELECT coalesce(r.user_type, '') AS user_type,
		       r.entity_type,
		       coalesce(r.entity_id_path, '') AS entity_id_path,
		       r.roles
		FROM   event_type_recipients r
		JOIN   event_outbox e USING (event_type)
		WHERE  e.event_id = $1
		ORDER BY r.id
		LIMIT  $2`

	queueInto(batch, rules, query, eventID, maxRulesPerEventType)
}

func queueRouting(batch *pgx.Batch, eventID string, routing *[]notification.Routing) {
	const query = `
		SELECT r.channel_type AS channel,
		       r.mandatory,
		       r.delivery_strategy AS strategy,
		       (extract(epoch FROM r.delay) * 1e9)::bigint AS delay,
		       (extract(epoch FROM r.digest_window) * 1e9)::bigint AS digest_window,
		       r.quiet_hours_action,
		       coalesce(r.priority, '') AS priority
		FROM   event_type_channel_routing r
		JOIN   event_outbox e USING (event_type)
		WHERE  e.event_id = $1`

	queueInto(batch, routing, query, eventID)
}

func queueSupported(batch *pgx.Batch, supported map[notification.Channel][]notification.UserType) {
	const query = `SELECT channel_type, user_type FROM channel_user_type`

	batch.Queue(query).Query(func(rows pgx.Rows) error {
		var channel notification.Channel
		var userType notification.UserType
		_, err := pgx.ForEachRow(rows, []any{&channel, &userType}, func() error {
			supported[channel] = append(supported[channel], userType)
			return nil
		})
		return err
	})
}

func queueTemplates(batch *pgx.Batch, eventID string, templates *[]notification.Template) {
	const query = `
		SELECT t.event_type, t.channel, t.locale, t.title, t.body
		FROM   notification_template t
		JOIN   event_outbox e ON t.event_type IN (e.event_type, '*')
		WHERE  e.event_id = $1
		LIMIT  $2`

	queueInto(batch, templates, query, eventID, maxRulesPerEventType)
}

// queueInto adds a query whose columns are the fields of T.
func queueInto[T any](batch *pgx.Batch, into *[]T, query string, args ...any) {
	batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
}

// SavePlan stores the decisions about a page of recipients, and their
// deliveries, in one transaction and one round trip. It returns the deliveries,
// and where they are in notification.
//
// What was decided once stands: a repeat, after a crash or a time-out, stores
// nothing new and returns what the first call stored.
func (s *Store) SavePlan(ctx context.Context, event notification.Event, page []notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange, error) {
	const insert = `
		WITH decided AS (
			INSERT INTO notification_decision (event_id, user_type, user_id, channels)
			SELECT $1, d.user_type, d.user_id, d.channels
			FROM   jsonb_to_recordset($3) AS d (user_type text, user_id text, channels jsonb)
			ON CONFLICT DO NOTHING
			RETURNING user_type, user_id
		)
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address,
		                          status, last_error, strategy, priority, send_after)
		SELECT $1, $2, p.user_type, p.user_id, p.channel, p.delivery_id, p.title, p.body, p.address,
		       p.status, p.problem, p.strategy, p.priority, p.send_after
		FROM   jsonb_to_recordset($4) AS p (user_type text, user_id text, channel text, delivery_id text, title text, body text, address text,
		                                    status text, problem text, strategy text, priority text, send_after timestamptz)
		JOIN   decided USING (user_type, user_id)`
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
	batch.Queue(insert, event.ID, event.Type, decisions, deliveries)
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
				UserType: r.UserType, UserID: r.UserID, Channel: d.Channel, DeliveryID: d.DeliveryID, Address: d.Address,
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

// Deliveries reads the deliveries of an event whose notification.id is in ids:
// those that wait for a time of their own, or those that do not.
func (s *Store) Deliveries(ctx context.Context, eventID string, ids notification.IDRange, waiting bool) ([]notification.Delivery, error) {
	const query = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, n.send_after, n.strategy, coalesce(r.timezone, 'UTC')
		FROM   notification n
		LEFT JOIN recipient r USING (user_type, user_id)
		WHERE  n.event_id = $1
		AND    n.id BETWEEN $2 AND $3
		AND    (n.send_after IS NOT NULL OR n.strategy = 'AGGREGATE') = $4
		ORDER BY n.id`

	rows, err := s.Pool.Query(ctx, query, eventID, ids.First, ids.Last, waiting)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	deliveries, _, err := collectDeliveries(rows)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	return deliveries, nil
}

func collectDeliveries(rows pgx.Rows) ([]notification.Delivery, notification.IDRange, error) {
	var deliveries []notification.Delivery
	var ids notification.IDRange
	var row struct {
		id        int64
		d         notification.Delivery
		sendAfter *time.Time
		strategy  notification.Strategy
		timezone  string
	}
	fields := []any{&row.id, &row.d.DeliveryID, &row.d.Channel, &row.d.UserType, &row.d.UserID, &row.d.Priority, &row.sendAfter, &row.strategy, &row.timezone}
	now := time.Now()
	_, err := pgx.ForEachRow(rows, fields, func() error {
		d := row.d
		d.Digest = row.strategy == notification.Aggregate
		if row.sendAfter != nil && !d.Digest { // a digest judges for itself when it is sent
			why := notification.WaitQuietHours
			if row.strategy == notification.Delayed {
				why = notification.WaitDelay
			}
			d.SendAfter, d.Wait = row.sendAfter.UTC(), notification.WaitText(*row.sendAfter, now, row.timezone, why)
		}
		if len(deliveries) == 0 {
			ids.First = row.id
		}
		ids.Last = row.id
		deliveries = append(deliveries, d)
		return nil
	})
	return deliveries, ids, err
}
