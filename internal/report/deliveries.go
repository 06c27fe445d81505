package report

import (
	"context"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DeliveryFilter selects deliveries. A zero field is no condition. The zero value selects
// all deliveries.
type DeliveryFilter struct {
	Statuses      []notification.Status
	Channels      []notification.Channel
	EventID       string
	EventType     string
	CorrelationID string
	UserType      notification.UserType
	UserID        string
	Entity        notification.Entity // through which the recipient was told
	Since         time.Time           // earliest time of planning
	Until         time.Time           // planned before this time
	After         int64               // only ids above this one

	through *int64 // only ids up to this one; nil: all
}

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

// deliveryColumns are the columns of [DeliveryRow].
const deliveryColumns = `
	       n.id, n.delivery_id, n.event_id, n.event_type, coalesce(n.correlation_id, '') AS correlation_id, n.user_type, n.user_id,
	       coalesce(n.entity_type, '') AS entity_type, coalesce(n.entity_id, '') AS entity_id, n.channel, n.status, n.strategy, n.priority,
	       n.attempt_count AS attempts, coalesce(n.last_error, '') AS last_error, n.send_after, n.expires_at, coalesce(n.digest_id, '') AS digest_id,
	       n.created_at, n.sent_at, n.delivered_at, n.read_at, coalesce(n.replaced_by, '') AS replaced_by`

// filtered is the condition of a [DeliveryFilter], with the parameters $1 to $13.
const filtered = `
	($1::text[] IS NULL OR n.status = ANY ($1))
	AND ($2::text[] IS NULL OR n.channel = ANY ($2))
	AND ($3::text IS NULL OR n.event_id = $3)
	AND ($4::text IS NULL OR n.event_type = $4)
	AND ($5::text IS NULL OR n.correlation_id = $5)
	AND ($6::text IS NULL OR n.user_type = $6)
	AND ($7::text IS NULL OR n.user_id = $7)
	AND ($8::text IS NULL OR n.entity_type = $8)
	AND ($9::text IS NULL OR n.entity_id = $9)
	AND ($10::timestamptz IS NULL OR n.created_at >= $10)
	AND ($11::timestamptz IS NULL OR n.created_at < $11)
	AND ($12::bigint IS NULL OR n.id <= $12)
	AND n.id > $13`

// params returns the parameters of filtered, followed by others.
func (f DeliveryFilter) params(others ...any) []any {
	params := []any{
		plannedForItsFilter,
		f.Statuses, f.Channels, db.Optional(f.EventID), db.Optional(f.EventType), db.Optional(f.CorrelationID), db.Optional(f.UserType), db.Optional(f.UserID),
		db.Optional(f.Entity.Type), db.Optional(f.Entity.ID), db.Optional(f.Since), db.Optional(f.Until), f.through, f.After,
	}
	return append(params, others...)
}

// CountDeliveries counts the deliveries that the filter selects.
func (r Reader) CountDeliveries(ctx context.Context, filter DeliveryFilter) (int, error) {
	const query = `
		SELECT count(*)
		FROM   notification n
		WHERE  ` + filtered

	if err := r.checkUserType(ctx, filter.UserType); err != nil {
		return 0, err
	}
	return db.One(ctx, r.Pool, "read the number of deliveries", pgx.RowTo[int], query, filter.params()...)
}

// deliveries reads the deliveries that the filter selects, in an order. rest ends the query, with more
// parameters from $14 on.
func (r Reader) deliveries(ctx context.Context, doing string, filter DeliveryFilter, rest string, more ...any) ([]DeliveryRow, error) {
	query := `
		SELECT ` + deliveryColumns + `
		FROM   notification n
		WHERE  ` + filtered + rest

	return db.Collect(ctx, r.Pool, doing, pgx.RowToStructByName[DeliveryRow], query, filter.params(more...)...)
}

// DeliveryPage reads the next deliveries that the filter selects, up to limit, in the order of their
// ids.
func (r Reader) DeliveryPage(ctx context.Context, filter DeliveryFilter, limit int) ([]DeliveryRow, error) {
	return r.deliveries(ctx, "read page of deliveries", filter, " ORDER BY n.id LIMIT $14", limit)
}

// LatestDeliveries reads the page that follows the key `after`, with up to limit deliveries that the filter
// selects, newest first. The deliveries of one event come in the order of their recipients: sorting
// them by time would read all of them.
func (r Reader) LatestDeliveries(ctx context.Context, filter DeliveryFilter, after string, limit int) (Page[DeliveryRow], error) {
	if err := r.checkUserType(ctx, filter.UserType); err != nil {
		return Page[DeliveryRow]{}, err
	}
	if filter.EventID != "" {
		return r.eventDeliveries(ctx, filter, after, limit)
	}
	isIndexed := filter.CorrelationID != "" || filter.UserID != ""
	ids, through, err := r.idsToSearch(ctx, idsOfTime{"notification", "created_at", filter.Since, filter.Until}, after, isIndexed)
	if err != nil {
		return Page[DeliveryRow]{}, err
	}
	filter.After, filter.through = ids.lowest-1, &ids.highest
	rows, err := r.deliveries(ctx, "read deliveries", filter, " ORDER BY n.id DESC LIMIT $14", limit+1)
	return searchedPage(rows, limit, func(d DeliveryRow) string { return strconv.FormatInt(int64(d.ID), 10) }, through), err
}

// eventDeliveries is [Reader.LatestDeliveries] for one event. An index has the order of recipients.
func (r Reader) eventDeliveries(ctx context.Context, filter DeliveryFilter, after string, limit int) (Page[DeliveryRow], error) {
	const rest = `
		AND    ($14::text IS NULL OR (n.user_type, n.user_id, n.channel) > (SELECT b.user_type, b.user_id, b.channel FROM notification b WHERE b.delivery_id = $14))
		AND    ($15::text IS NULL OR (n.user_type, n.user_id, n.channel) <= (SELECT b.user_type, b.user_id, b.channel FROM notification b WHERE b.delivery_id = $15))
		ORDER BY n.user_type, n.user_id, n.channel
		LIMIT  $16`

	through, err := r.lastSearchedDelivery(ctx, filter, after)
	if err != nil {
		return Page[DeliveryRow]{}, err
	}
	rows, err := r.deliveries(ctx, "read deliveries of an event", filter, rest, db.Optional(after), db.Optional(through), limit+1)
	return searchedPage(rows, limit, func(d DeliveryRow) string { return d.DeliveryID }, through), err
}

// lastSearchedDelivery returns the last delivery of an event that a page searches; empty: it reads all
// deliveries that match the filter.
func (r Reader) lastSearchedDelivery(ctx context.Context, filter DeliveryFilter, after string) (string, error) {
	const query = `
		SELECT delivery_id
		FROM   notification
		WHERE  event_id = $1
		AND    (user_type, user_id, channel) = (
			SELECT n.user_type, n.user_id, n.channel
			FROM   notification n
			WHERE  n.event_id = $1
			AND    ($2::text IS NULL OR (n.user_type, n.user_id, n.channel) > (SELECT b.user_type, b.user_id, b.channel FROM notification b WHERE b.delivery_id = $2))
			ORDER BY n.user_type, n.user_id, n.channel
			OFFSET $3
			LIMIT  1)`

	err := r.require(ctx, "SELECT FROM notification WHERE delivery_id", after)
	if err != nil || reflect.DeepEqual(filter, DeliveryFilter{EventID: filter.EventID}) {
		return "", err
	}
	id, err := db.One(ctx, r.Pool, "read the last delivery to search", pgx.RowTo[string], query, plannedForItsFilter, filter.EventID, db.Optional(after), r.searched()-1)
	return id, db.IgnoreNoRows(err)
}

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
