package main

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// events are the outcomes of events and their pages.
func events() []*scenario {
	const nobody, unrouted = "restaurantId is not in the payload", "event type RESERVATION_REQUESTED has no rows in event_type_channel_routing"
	failing := event("notify_partly_failed", small())
	failing.send = refuse
	paged := event("notify_paged", large(1), large(2), activities.PlanResult{}, large(4), large(5), large(6))
	paged.also = "page_sent"
	cancelled := event("notify_cancelled", small())
	cancelled.send, cancelled.meanwhile = outage, cancelWithOpenChild
	cancelledPages := event("notify_paged_cancelled", large(1), large(2))
	cancelledPages.send, cancelledPages.meanwhile, cancelledPages.also = outage, cancelWithOpenPage, "page_cancelled"
	return []*scenario{
		event("notify_sent", small()),
		event("notify_nothing_selected", activities.PlanResult{}),
		event("notify_no_recipients", activities.PlanResult{Outcome: activities.NoRecipients, Problem: nobody}),
		event("notify_no_routing", activities.PlanResult{Outcome: activities.NoRouting, Problem: unrouted}),
		event("notify_failed"),
		failing, paged, cancelled, cancelledPages,
	}
}

func event(name string, pages ...activities.PlanResult) *scenario {
	return &scenario{
		name: name, pages: pages, workflow: workflows.NotifyEvent, queue: workflows.EventsQueue(prefix),
		input: []any{workflows.NotifyInput{Publish: true}},
	}
}

// small is the only page of an event, with two deliveries.
func small() activities.PlanResult {
	two := activities.DeliveryBatch{Deliveries: make([]notification.Delivery, 2)} // filled in when the event has an id
	return activities.PlanResult{Batch: two, Stored: notification.IDRange{First: 10, Last: 11}}
}

// large is the n-th page of a broadcast.
func large(n int64) activities.PlanResult {
	return activities.PlanResult{Stored: notification.IDRange{First: n * 10, Last: n*10 + 1}}
}

// cancelWithOpenChild cancels an event one of whose deliveries was begun.
func cancelWithOpenChild(ctx context.Context, temporal client.Client, s *scenario) error {
	child := notification.DeliveryID(s.id, notification.RestaurantUser, "10", notification.Email)
	return cancelOnceBegun(ctx, temporal, s, s.id, child)
}

// cancelWithOpenPage cancels an event one of whose pages' deliveries was begun.
func cancelWithOpenPage(ctx context.Context, temporal client.Client, s *scenario) error {
	child := notification.DeliveryID(s.id, notification.RestaurantUser, "10", notification.Email)
	return cancelOnceBegun(ctx, temporal, s, s.id+"-page-1", child)
}

// cancelOnceBegun waits until a child has an attempt behind it, and its parent
// knows of a child, then cancels the event.
func cancelOnceBegun(ctx context.Context, temporal client.Client, s *scenario, parent, child string) error {
	if err := backingOff(ctx, temporal, child); err != nil {
		return fmt.Errorf("wait for an attempt of %s: %w", child, err)
	}
	if err := happened(ctx, temporal, parent, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED); err != nil {
		return err
	}
	return temporal.CancelWorkflow(ctx, s.id, "")
}
