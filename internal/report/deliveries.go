package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DeliveryRow is a row of notification, without its address and its text.
type DeliveryRow struct {
	ID            notification.JSONInt  `json:"id"`
	DeliveryID    string                `json:"delivery_id"`
	EventID       string                `json:"event_id"`
	EventType     string                `json:"event_type"`
	CorrelationID string                `json:"correlation_id"`
	UserType      notification.UserType `json:"user_type"`
	UserID        string                `json:"user_id"`
	EntityType    string                `json:"entity_type"` // of the entity through which the recipient was told; empty, like the id: unknown
	EntityID      string                `json:"entity_id"`
	Channel       notification.Channel  `json:"channel"`
	Status        notification.Status   `json:"status"`
	Strategy      notification.Strategy `json:"strategy"`
	Priority      notification.Priority `json:"priority"`
	Attempts      int                   `json:"attempts"`
	LastError     string                `json:"last_error"`
	SendAfter     *time.Time            `json:"send_after"`
	ExpiresAt     *time.Time            `json:"expires_at"`
	DigestID      string                `json:"digest_id"`
	CreatedAt     time.Time             `json:"created_at"`
	SentAt        *time.Time            `json:"sent_at"`
	DeliveredAt   *time.Time            `json:"delivered_at"`
	ReadAt        *time.Time            `json:"read_at"`
	ReplacedBy    string                `json:"replaced_by"` // the newer event that took its place; empty: none
}

// Recipient returns a name such as RESTAURANT_USER/10.
func (r DeliveryRow) Recipient() string { return string(r.UserType) + "/" + r.UserID }

// DeliveryColumns are the columns of [DeliveryRow], from the row n.
const DeliveryColumns = `
	       n.id, n.delivery_id, n.event_id, n.event_type, coalesce(n.correlation_id, '') AS correlation_id, n.user_type, n.user_id,
	       coalesce(n.entity_type, '') AS entity_type, coalesce(n.entity_id, '') AS entity_id, n.channel, n.status, n.strategy, n.priority,
	       n.attempt_count AS attempts, coalesce(n.last_error, '') AS last_error, n.send_after, n.expires_at, coalesce(n.digest_id, '')
	           AS digest_id,
	       n.created_at, n.sent_at, n.delivered_at, n.read_at, coalesce(n.replaced_by, '') AS replaced_by`

// DeliveryIDs reads delivery ids that begin with prefix, newest first: up to limit ids of
// the last 1,000 deliveries.
func (r Reader) DeliveryIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT delivery_id
		FROM   (SELECT id, delivery_id FROM notification ORDER BY id DESC LIMIT 1000) n
		WHERE  starts_with(delivery_id, $1)
		ORDER BY id DESC
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read delivery ids", pgx.RowTo[string], query, prefix, limit)
}
