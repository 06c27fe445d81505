package postgres

import (
	"context"
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

// Deliveries reads the deliveries of an event whose notification.id is in ids:
// those that wait for a time of their own, or those that do not. Events that
// release 0.1 started read their pages so.
func (s *Store) Deliveries(ctx context.Context, eventID string, ids notification.IDRange, waiting bool) ([]notification.Delivery, error) {
	const query = selectDeliveries + `
		WHERE  n.event_id = $1
		AND    n.id BETWEEN $2 AND $3
		AND    (n.send_after IS NOT NULL OR n.strategy = 'AGGREGATE') = $4
		ORDER BY n.id`

	return s.readDeliveries(ctx, query, eventID, ids.First, ids.Last, waiting)
}

func collectDeliveries(rows pgx.Rows) ([]notification.Delivery, notification.IDRange, error) {
	var deliveries []notification.Delivery
	var ids notification.IDRange
	var row struct {
		id int64
		d  notification.Delivery
		w  wait
	}
	fields := []any{&row.id, &row.d.DeliveryID, &row.d.Channel, &row.d.UserType, &row.d.UserID, &row.d.Priority, &row.w.sendAfter, &row.w.strategy, &row.w.timezone}
	now := time.Now()
	_, err := pgx.ForEachRow(rows, fields, func() error {
		d := row.d
		row.w.of(&d, now)
		if len(deliveries) == 0 {
			ids.First = row.id
		}
		ids.Last = row.id
		deliveries = append(deliveries, d)
		return nil
	})
	return deliveries, ids, err
}

// wait is what a row of notification says of a delivery's time.
type wait struct {
	sendAfter *time.Time
	strategy  notification.Strategy
	timezone  string
}

// of tells a delivery what it waits for.
func (w wait) of(d *notification.Delivery, now time.Time) {
	d.Digest = w.strategy == notification.Aggregate
	if w.sendAfter == nil || d.Digest { // a digest judges for itself when it is sent
		return
	}
	why := notification.WaitQuietHours
	if w.strategy == notification.Delayed {
		why = notification.WaitDelay
	}
	d.SendAfter, d.Wait = w.sendAfter.UTC(), notification.WaitText(*w.sendAfter, now, w.timezone, why)
}
