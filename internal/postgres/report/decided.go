package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DecisionKey names one recipient and one channel of an event.
type DecisionKey struct {
	EventID  string
	UserType notification.UserType
	UserID   string
	Channel  notification.Channel
}

// Decided is what was decided about one recipient of an event.
type Decided struct {
	EventType string
	Outbox    *LeasedRow                                     // nil: the row was purged
	Processed *ProcessedRow                                  // nil: it was not started yet
	Decisions map[notification.Channel]notification.Decision // nil: nothing was decided about the recipient
	DecidedAt time.Time
	Chosen    int                 // recipients of the event who were selected for the channel
	Entity    notification.Entity // through which the recipient was told; the zero value: no delivery says
}

// Decided reads what was decided. Where nothing is known of the event, the
// error is [notification.ErrNoEvent].
func (r Reader) Decided(ctx context.Context, key DecisionKey) (Decided, error) {
	const decided = `
		SELECT decided_at, channels
		FROM   notification_decision
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3`
	const chosen = `
		SELECT count(*)
		FROM   notification_decision
		WHERE  event_id = $1
		AND    channels ->> $2 = 'SELECTED'`

	const entity = `
		SELECT entity_type, entity_id
		FROM   notification
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3
		AND    entity_type IS NOT NULL
		LIMIT  1`

	var found Decided
	event := EventDetail{EventID: key.EventID}
	batch := &pgx.Batch{}
	queueOutboxRow(batch, &event)
	queueProcessedRow(batch, &event)
	batch.Queue(decided, key.EventID, key.UserType, key.UserID).QueryRow(func(row pgx.Row) error {
		return unlessNoRows(row.Scan(&found.DecidedAt, &found.Decisions))
	})
	batch.Queue(chosen, key.EventID, string(key.Channel)).QueryRow(func(row pgx.Row) error { return row.Scan(&found.Chosen) })
	batch.Queue("SELECT event_type FROM notification WHERE event_id = $1 LIMIT 1", key.EventID).QueryRow(func(row pgx.Row) error {
		return unlessNoRows(row.Scan(&found.EventType))
	})
	batch.Queue(entity, key.EventID, key.UserType, key.UserID).QueryRow(func(row pgx.Row) error {
		return unlessNoRows(row.Scan(&found.Entity.Type, &found.Entity.ID))
	})
	if err := r.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return Decided{}, fmt.Errorf("read decision: %w", err)
	}
	found.Outbox, found.Processed = event.Outbox, event.Processed
	if found.Outbox != nil {
		found.EventType = found.Outbox.EventType
	}
	if found.Outbox == nil && found.Processed == nil && found.Decisions == nil && found.EventType == "" {
		return Decided{}, notification.ErrNoEvent
	}
	return found, nil
}

// unlessNoRows is an error other than that there is no row.
func unlessNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
