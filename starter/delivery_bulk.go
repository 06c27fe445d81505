package main

import (
	"context"
	"strings"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// deliveries changes those that are named, or those that the filter names.
func (o *operator) deliveries(ctx context.Context, j job, ids []string, filter postgres.DeliveryFilter) error {
	if len(ids) > 0 {
		return o.app.named(ctx, j, ids)
	}
	last, err := o.db.LastDeliveryID(ctx)
	if err != nil {
		return err
	}
	matched, err := o.db.CountDeliveries(ctx, filter)
	if err != nil {
		return err
	}
	page := func(ctx context.Context, after int64, limit int) ([]item, error) {
		rows, err := o.db.DeliveryPage(ctx, filter, after, limit)
		items := make([]item, 0, len(rows))
		for _, row := range rows {
			items = append(items, item{row.ID, row.DeliveryID})
		}
		return items, err
	}
	return o.app.selected(ctx, j, selection{matched: matched, last: last, page: page})
}

// cancelled is the last_error of a delivery that an operator cancelled.
const cancelled = "cancelled"

// sentAlready is the outcome of a delivery that is past changing.
func sentAlready(id string, state postgres.DeliveryState) outcome {
	return outcome{
		ID: id, Result: "was sent", Detail: clock(state.SentAt) + "; what was sent stays sent",
		next: "nothing calls it back; `starter delivery show " + quoted(id) + "` tells what became of it",
	}
}

// asItIs is the outcome of a delivery that nobody works on, seen by somebody who
// would have changed its course.
func asItIs(id string, state postgres.DeliveryState) outcome {
	switch state.Status {
	case notification.Sent, notification.Delivered:
		return sentAlready(id, state)
	case notification.Failed:
		return outcome{ID: id, Result: "has failed", Detail: state.LastError, next: "mend the cause, then `starter delivery retry " + quoted(id) + "`"}
	case notification.Cancelled:
		return outcome{ID: id, Result: "was cancelled", Detail: strings.TrimPrefix(state.LastError, cancelled), next: "`starter delivery retry " + quoted(id) + "` makes it after all"}
	default:
		return outcome{
			ID: id, Result: "is worked on by nobody", Detail: "its workflow does not run, or not yet",
			next: "see its event; where that is through, `starter delivery retry " + quoted(id) + "` makes the delivery",
		}
	}
}
