package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// RecipientDecision is what was decided about somebody, an event and a channel, and what
// became of it.
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
}

// RecipientFilter names somebody. A zero Since or Channel is no condition.
type RecipientFilter struct {
	UserType notification.UserType
	UserID   string
	Since    time.Time // decided then, at the earliest
	Channel  notification.Channel
}

// RecipientDecisions reads what was decided about somebody, up to limit decisions, the
// latest first.
func (r Reader) RecipientDecisions(ctx context.Context, filter RecipientFilter, limit int) ([]RecipientDecision, error) {
	const query = `
		SELECT d.decided_at, d.event_id, coalesce(n.event_type, o.event_type, '') AS event_type, c.channel, c.decision,
		       coalesce(n.delivery_id, '') AS delivery_id, coalesce(n.status, '') AS status, coalesce(n.last_error, '') AS last_error,
		       n.send_after, n.sent_at, '' AS reason
		FROM   notification_decision d
		CROSS JOIN LATERAL jsonb_each_text(d.channels) AS c (channel, decision)
		LEFT JOIN notification n ON (n.event_id, n.user_type, n.user_id, n.channel) = (d.event_id, d.user_type, d.user_id, c.channel)
		LEFT JOIN event_outbox o ON o.event_id = d.event_id
		WHERE  d.user_type = $1
		AND    d.user_id = $2
		AND    ($3::timestamptz IS NULL OR d.decided_at >= $3)
		AND    ($4::text IS NULL OR c.channel = $4)
		ORDER BY d.decided_at DESC, d.event_id, c.channel
		LIMIT  $5`

	if err := r.checkUserType(ctx, filter.UserType); err != nil {
		return nil, err
	}
	return list(ctx, r, "decisions", pgx.RowToStructByName[RecipientDecision], query,
		filter.UserType, filter.UserID, optional(filter.Since), optional(filter.Channel), limit)
}
