package workflows

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// PageInput is the input of [NotifyPage].
type PageInput struct {
	notification.Part
	EventType string
	Aggregate notification.Entity
	Again     bool `json:",omitempty"` // as in [NotifyInput]
	Pending   bool `json:",omitempty"` // only PENDING deliveries; otherwise also FAILED ones
}

// openDeliveries limits the deliveries that one workflow sends over one channel concurrently.
// Deliveries that wait, for whatever reason, do not count, because they would delay the other
// deliveries until the morning. A page has at most 500 deliveries.
const openDeliveries = 100

// NotifyPage sends one page of an event's lane: its deliveries over one channel that are due, or those
// that wait. Pages keep each history short, for any number of recipients.
func NotifyPage(ctx workflow.Context, in PageInput) error {
	return endPart(ctx, in.Part, deliverPage(ctx, in))
}

func deliverPage(ctx workflow.Context, in PageInput) error {
	event := batchEvent{in.EventID, in.EventType, in.Aggregate, in.Again}
	open := newLimiter(ctx, openDeliveries)
	releaseWaiting(ctx, open)
	err := eachListed(ctx, activities.ListInput{Part: in.Part, Pending: in.Pending},
		func(d notification.Delivery, policy activities.DeliveryPolicy) error {
			return open.deliver(ctx, d, func(ctx workflow.Context) { deliverOne(ctx, event, d, policy) })
		})
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d deliveries are sent or wait; each is a child workflow", open.open))
	return cmp.Or(err, open.waitTelling(ctx))
}
