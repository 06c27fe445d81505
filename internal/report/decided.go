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
	MemberRole  string                          // the role in Entity through which they were told; empty: none
}

// Target returns the target that named the recipient, as far as a delivery's row tells: a follower is named
// only as a follower.
func (d Decided) Target() notification.Target {
	target := notification.Target{Entity: d.Entity}
	if d.MemberRole == notification.Follower {
		target.Roles = []string{d.MemberRole}
	}
	return target
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
		SELECT entity_type, entity_id, coalesce(member_role, '')
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
	db.QueueEach(batch, []any{&found.DecidedAt, &found.Decisions, &found.ThrottledBy}, func() {}, decided, key.EventID, key.UserType,
		key.UserID)
	db.QueueEach(batch, []any{&found.EventType}, func() {}, "SELECT event_type FROM notification WHERE event_id = $1 LIMIT 1", key.EventID)
	db.QueueEach(batch, []any{&found.Entity.Type, &found.Entity.ID, &found.MemberRole}, func() {}, entity, key.EventID, key.UserType,
		key.UserID)
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
