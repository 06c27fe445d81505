package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DecisionKey names one recipient and one channel of an event.
type DecisionKey struct {
	EventID  string
	UserType notification.UserType
	UserID   string
	Channel  notification.Channel
}

// Decided holds the decisions about one recipient of an event.
type Decided struct {
	EventType string
	Outbox    *LeasedRow                                     // nil: the row was purged
	Processed *ProcessedRow                                  // nil: it was not started yet
	Decisions map[notification.Channel]notification.Decision // nil: nothing was decided about the recipient
	DecidedAt time.Time

	ThrottledBy map[notification.Channel]string // the deliveries that they got instead
	Entity      notification.Entity             // through which the recipient was told; zero: no delivery names one
}

// Decided reads the decisions about a recipient. If nothing is known of the event, the
// error is [notification.ErrNoEvent].
func (r Reader) Decided(ctx context.Context, key DecisionKey) (Decided, error) {
	const decided = `
		SELECT decided_at, channels, throttled_by
		FROM   notification_decision
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3`
	const entity = `
		SELECT entity_type, entity_id
		FROM   notification
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3
		AND    entity_type IS NOT NULL
		LIMIT  1`

	var found Decided
	batch := &pgx.Batch{}
	queueRow(batch, &found.Outbox, outboxRow, key.EventID)
	queueRow(batch, &found.Processed, processedRow, key.EventID)
	db.QueueEach(batch, []any{&found.DecidedAt, &found.Decisions, &found.ThrottledBy}, func() {}, decided, key.EventID, key.UserType, key.UserID)
	db.QueueEach(batch, []any{&found.EventType}, func() {}, "SELECT event_type FROM notification WHERE event_id = $1 LIMIT 1", key.EventID)
	db.QueueEach(batch, []any{&found.Entity.Type, &found.Entity.ID}, func() {}, entity, key.EventID, key.UserType, key.UserID)
	if err := r.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return Decided{}, db.Wrap(err, "read decision")
	}
	if found.Outbox != nil {
		found.EventType = found.Outbox.EventType
	}
	if found.Outbox == nil && found.Processed == nil && found.Decisions == nil && found.EventType == "" {
		return Decided{}, notification.ErrNoEvent
	}
	return found, nil
}

// Chosen counts the recipients of an event who were selected for a channel. It reads all decisions of
// the event.
func (r Reader) Chosen(ctx context.Context, eventID string, channel notification.Channel) (int, error) {
	const query = `
		SELECT count(*)
		FROM   notification_decision
		WHERE  event_id = $1
		AND    channels ->> $2 = 'SELECTED'`

	return db.One(ctx, r.Pool, "count the chosen recipients", pgx.RowTo[int], query, eventID, string(channel))
}

// RecipientDecision is a decision about a person, an event and a channel, and its delivery.
type RecipientDecision struct {
	DecidedAt  time.Time             `json:"decided_at"`
	EventID    string                `json:"event_id"`
	EventType  string                `json:"event_type"` // empty: the event was purged
	Channel    notification.Channel  `json:"channel"`
	Decision   notification.Decision `json:"decision"`
	DeliveryID string                `json:"delivery_id"` // empty: none was planned, or it was purged
	Status     notification.Status   `json:"status"`      // of the delivery
	LastError  string                `json:"last_error"`
	SendAfter  *time.Time            `json:"send_after"`
	SentAt     *time.Time            `json:"sent_at"`
	Reason     string                `json:"reason"` // of the decision, or of the delivery's end

	ThrottledBy string `json:"throttled_by,omitempty"` // the delivery that they got instead
}

// RecipientFilter names a person. A zero Since, Channel or Before is no condition.
type RecipientFilter struct {
	UserType notification.UserType
	UserID   string
	Since    time.Time // earliest time of the decision
	Channel  notification.Channel
	Before   DecisionCursor // only the decisions after this one, in the order of the list
}

// DecisionCursor is the place of a decision in a person's list.
type DecisionCursor struct {
	DecidedAt time.Time
	EventID   string
	Channel   notification.Channel
}

// RecipientDecisions reads the decisions about a person, up to limit, newest first.
func (r Reader) RecipientDecisions(ctx context.Context, filter RecipientFilter, limit int) ([]RecipientDecision, error) {
	const query = `
		SELECT d.decided_at, d.event_id, coalesce(n.event_type, o.event_type, '') AS event_type, c.channel, c.decision,
		       coalesce(n.delivery_id, '') AS delivery_id, coalesce(n.status, '') AS status, coalesce(n.last_error, '') AS last_error,
		       n.send_after, n.sent_at, '' AS reason,
		       coalesce(d.throttled_by ->> c.channel, '') AS throttled_by
		FROM   notification_decision d
		CROSS JOIN LATERAL jsonb_each_text(d.channels) AS c (channel, decision)
		LEFT JOIN notification n ON (n.event_id, n.user_type, n.user_id, n.channel) = (d.event_id, d.user_type, d.user_id, c.channel)
		LEFT JOIN event_outbox o ON o.event_id = d.event_id
		WHERE  d.user_type = $1
		AND    d.user_id = $2
		AND    ($3::timestamptz IS NULL OR d.decided_at >= $3)
		AND    ($4::text IS NULL OR c.channel = $4)
		AND    ($6::timestamptz IS NULL OR d.decided_at <= $6 AND (d.decided_at, d.event_id, c.channel) < ($6, $7, $8))
		ORDER BY d.decided_at DESC, d.event_id DESC, c.channel DESC
		LIMIT  $5`

	if err := r.checkUserType(ctx, filter.UserType); err != nil {
		return nil, err
	}
	return db.Collect(ctx, r.Pool, "read decisions", pgx.RowToStructByName[RecipientDecision], query,
		filter.UserType, filter.UserID, db.Optional(filter.Since), db.Optional(filter.Channel), limit,
		db.Optional(filter.Before.DecidedAt), filter.Before.EventID, filter.Before.Channel)
}
