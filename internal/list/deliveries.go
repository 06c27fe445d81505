package list

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/report"
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
}

func (f DeliveryFilter) conditions() conditions {
	return slices.Concat(
		where("n.status = ANY (@statuses)", f.Statuses),
		where("n.channel = ANY (@channels)", f.Channels),
		where("n.event_id = @event_id", f.EventID),
		where("n.event_type = @event_type", f.EventType),
		where("n.correlation_id = @correlation_id", f.CorrelationID),
		where("n.user_type = @user_type", f.UserType),
		where("n.user_id = @user_id", f.UserID),
		where("n.entity_type = @entity_type", f.Entity.Type),
		where("n.entity_id = @entity_id", f.Entity.ID),
		where("n.created_at >= @since", f.Since),
		where("n.created_at < @until", f.Until),
	)
}

// latestDeliveries has the newest deliveries first.
var latestDeliveries = spec[report.DeliveryRow]{
	doing:   "read deliveries",
	columns: report.DeliveryColumns,
	from:    "notification n",
	order:   order{by: "n.id", newestFirst: true, table: "notification", time: "created_at"},
	key:     func(d report.DeliveryRow) string { return fmt.Sprint(d.ID) },
}

// Deliveries reads deliveries that the filter selects, newest first. The deliveries of one event come in
// the order of their recipients, as an index has them: sorting them by time would read all of them.
func (r Reader) Deliveries(ctx context.Context, filter DeliveryFilter, from Place) (Page[report.DeliveryRow], error) {
	if err := report.CheckUserType(ctx, r.Pool, filter.UserType); err != nil {
		return Page[report.DeliveryRow]{}, err
	}
	deliveries, selected := latestDeliveries, filter.conditions()
	in := part{since: filter.Since, until: filter.Until, isIndexed: filter.CorrelationID != "" || filter.UserID != ""}
	if filter.EventID != "" {
		deliveries.doing = "read deliveries of an event"
		deliveries.order = order{by: "n.user_type, n.user_id, n.channel", table: "notification n", name: "n.delivery_id", noun: "delivery"}
		deliveries.key = func(d report.DeliveryRow) string { return d.DeliveryID }
		in = part{within: where("n.event_id = @event_id", filter.EventID), isIndexed: len(selected) == 1}
	}
	return deliveries.page(ctx, r, selected, in, from)
}

// CountDeliveries counts the deliveries that the filter selects.
func (r Reader) CountDeliveries(ctx context.Context, filter DeliveryFilter) (int, error) {
	if err := report.CheckUserType(ctx, r.Pool, filter.UserType); err != nil {
		return 0, err
	}
	clause, params := filter.conditions().write()
	query := "SELECT count(*) FROM notification n " + clause
	return db.One(ctx, r.Pool, "read the number of deliveries", pgx.RowTo[int], query, plannedForItsValues, params)
}

// DeliveriesAfter reads the next deliveries that the filter selects, up to limit, in the order of their
// ids.
func (r Reader) DeliveriesAfter(ctx context.Context, filter DeliveryFilter, id int64, limit int) ([]report.DeliveryRow, error) {
	oldest := latestDeliveries
	oldest.doing, oldest.order.newestFirst = "read page of deliveries", false
	return oldest.read(ctx, r, slices.Concat(filter.conditions(), where("n.id > @after", id)), limit)
}
