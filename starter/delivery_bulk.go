package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// deliveries changes those that are named, or those that the filter names.
func (o *operator) deliveries(ctx context.Context, j job, ids []string, filter report.DeliveryFilter) error {
	if len(ids) > 0 {
		return o.app.named(ctx, j, ids)
	}
	last, err := o.db.LastDeliveryID(ctx)
	if err != nil {
		return err
	}
	matched, err := report.Reader{Pool: o.db.Pool}.CountDeliveries(ctx, filter)
	if err != nil {
		return err
	}
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		behind, err := deliveryNumber(after)
		if err != nil {
			return nil, err
		}
		rows, err := report.Reader{Pool: o.db.Pool}.DeliveryPage(ctx, filter, behind, limit)
		items := make([]item, 0, len(rows))
		for _, row := range rows {
			if row.ID <= last {
				items = append(items, item{strconv.FormatInt(row.ID, 10), row.DeliveryID})
			}
		}
		return items, err
	}
	return o.app.selected(ctx, j, selection{matched: matched, page: page})
}

// deliveryNumber reads the number of a delivery, by which they are paged; "" is
// before the first.
func deliveryNumber(key string) (int64, error) {
	if key == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(key, 10, 64)
	if err != nil || number < 0 {
		return 0, misused(errors.New("--after must be the number that an earlier call named"))
	}
	return number, nil
}

// cancelled is the last_error of a delivery that an operator cancelled.
const cancelled = "cancelled"

// sentAlready is the outcome of a delivery that is past changing.
func sentAlready(id string, state postgres.DeliveryState) outcome {
	return outcome{
		ID: id, Result: "was sent", Detail: console.Clock(state.SentAt) + "; what was sent stays sent",
		next: "nothing calls it back; `starter delivery show " + advice.Quote(id) + "` tells what became of it",
	}
}

// asItIs is the outcome of a delivery that nobody works on, seen by somebody who
// would have changed its course.
func asItIs(id string, state postgres.DeliveryState) outcome {
	switch state.Status {
	case notification.Sent, notification.Delivered:
		return sentAlready(id, state)
	case notification.Failed:
		return outcome{ID: id, Result: "has failed", Detail: state.LastError, next: "mend the cause, then `starter delivery retry " + advice.Quote(id) + "`"}
	case notification.Cancelled:
		return outcome{ID: id, Result: "was cancelled", Detail: strings.TrimPrefix(state.LastError, cancelled), next: "`starter delivery retry " + advice.Quote(id) + "` makes it after all"}
	default:
		return outcome{
			ID: id, Result: "is worked on by nobody", Detail: "its workflow does not run, or not yet",
			next: "see its event; where that is through, `starter delivery retry " + advice.Quote(id) + "` makes the delivery",
		}
	}
}
