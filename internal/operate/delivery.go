package operate

import (
	"context"
	"errors"
	"strconv"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/launch"
	"herald/internal/list"
	"herald/internal/notification"
)

// SelectDeliveries selects the deliveries that match a filter, in the order of their numbers. The
// selection begins after the number in `after`.
func (o *Operator) SelectDeliveries(ctx context.Context, filter list.DeliveryFilter, after string) (Selection, error) {
	reader := list.Reader{Pool: o.DB.Pool}
	if filter.Until.IsZero() {
		var err error
		if filter.Until, err = o.DB.Now(ctx); err != nil {
			return Selection{}, err
		}
	}
	matched, err := reader.CountDeliveries(ctx, filter)
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		number, err := DeliveryNumber(after)
		if err != nil {
			return nil, err
		}
		rows, err := reader.DeliveriesAfter(ctx, filter, number, limit)
		items := make([]item, len(rows))
		for i, row := range rows {
			items[i] = item{strconv.FormatInt(int64(row.ID), 10), row.DeliveryID}
		}
		return items, err
	}
	return Selection{Matched: matched, After: after, page: page}, err
}

// DeliveryNumber parses a key of a [Selection] of deliveries. An empty key is 0, which is before
// the first delivery.
func DeliveryNumber(key string) (int64, error) {
	if key == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(key, 10, 64)
	if err != nil || number < 0 {
		return 0, errors.New("must be the number that an earlier call named")
	}
	return number, nil
}

// deliveryChange is an order to change one delivery.
type deliveryChange struct {
	*Operator
	id    string
	state attempt.DeliveryState
}

// deliveryVerb returns a verb of deliveries. decide plans the change of one delivery.
func deliveryVerb(name string, decide func(deliveryChange, context.Context) (plan, error)) Verb {
	return Verb{Name: name, Noun: Deliveries, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		c, err := o.delivery(ctx, id)
		if err != nil {
			return plan{}, err
		}
		return decide(c, ctx)
	}}
}

// delivery reads the state of a delivery.
func (o *Operator) delivery(ctx context.Context, id string) (deliveryChange, error) {
	state, err := attempt.On(o.DB).DeliveryState(ctx, id)
	return deliveryChange{o, id, state}, advice.NoDelivery(id, err)
}

// is returns an outcome of the delivery.
func (c deliveryChange) is(code Code) Outcome {
	return Outcome{ID: c.id, Code: code, Args: Args{
		At: c.state.SentAt, Status: c.state.Status, Attempts: c.state.Attempts, UnderWay: c.state.UnderWay,
		Error: c.state.LastError, By: c.state.Withdrawn,
	}}
}

// isSent reports whether a delivery was sent. A sent delivery cannot be changed.
func (c deliveryChange) isSent() bool {
	return c.state.Status == notification.Sent || c.state.Status == notification.Delivered
}

// unchanged returns the outcome of a delivery that a verb leaves as it is, usually because its
// workflow does not run.
func (c deliveryChange) unchanged() Outcome {
	switch {
	case c.isSent():
		return c.is(WasSent)
	case c.state.Status == notification.Failed:
		return c.is(HasFailed)
	case c.state.Status != notification.Cancelled:
		return c.is(HasNoWorkflow)
	case c.state.Withdrawn != "":
		return c.is(IsWithdrawn)
	default:
		return c.is(WasCancelled)
	}
}

// inBatch returns the outcome of a delivery without a running workflow that a batch sends, and
// reports whether a batch does.
func (c deliveryChange) inBatch(ctx context.Context) (Outcome, bool, error) {
	outcome := c.is(IsInBatch)
	if c.state.Status != notification.Pending {
		return outcome, false, nil
	}
	batch, err := launch.BatchOf(ctx, c.temporal(), c.state.EventID, c.state.Channel, c.state.Number)
	outcome.Other = batch.ID
	return outcome, batch.ID != "", err
}
