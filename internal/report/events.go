package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// OutboxRow is a row of event_outbox, without its payload.
type OutboxRow struct {
	EventType     string                    `json:"event_type"`
	AggregateType string                    `json:"aggregate_type"`
	AggregateID   string                    `json:"aggregate_id"`
	CorrelationID string                    `json:"correlation_id"`
	Status        notification.OutboxStatus `json:"status"`
	CreatedAt     time.Time                 `json:"created_at"`
	PublishedAt   *time.Time                `json:"published_at"`
	AttemptCount  int                       `json:"attempt_count"`
	ErrorMessage  string                    `json:"error_message"`
}

// Aggregate returns a name such as RESTAURANT/5; empty: an event of another outbox has
// none.
func (o OutboxRow) Aggregate() string {
	if o.AggregateType == "" && o.AggregateID == "" {
		return ""
	}
	return o.AggregateType + "/" + o.AggregateID
}

// OutboxColumns are the columns of [OutboxRow], from the row e.
const OutboxColumns = `
	       e.event_type, coalesce(e.aggregate_type, '') AS aggregate_type, coalesce(e.aggregate_id, '') AS aggregate_id,
	           coalesce(e.correlation_id, '') AS correlation_id, e.status, e.created_at,
	       e.published_at, e.attempt_count, coalesce(e.error_message, '') AS error_message`

// EventIDs reads event ids that begin with prefix, newest first: up to limit ids of the
// last 1,000 events.
func (r Reader) EventIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT event_id
		FROM   (SELECT event_id, created_at, seq FROM event_outbox ORDER BY created_at DESC, seq DESC LIMIT 1000) e
		WHERE  starts_with(event_id, $1)
		ORDER BY created_at DESC, seq DESC
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read event ids", pgx.RowTo[string], query, prefix, limit)
}

// EventTypes reads the configured event types that begin with prefix, up to limit.
func (r Reader) EventTypes(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT event_type
		FROM   (SELECT event_type FROM event_type_channel_routing
		        UNION
		        SELECT event_type FROM event_type_recipients
		        UNION
		        SELECT event_type FROM notification_template WHERE event_type NOT IN ('*', 'digest') AND event_type NOT LIKE '%.digest') t
		WHERE  starts_with(event_type, $1)
		ORDER BY event_type
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read event types", pgx.RowTo[string], query, prefix, limit)
}
