package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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
	paged.also = map[string]string{"-page-1": "page_sent"}
	waiting := event("notify_paged_waiting", withWaiting(large(1)), onlyWaiting(2), large(3))
	waiting.waits, waiting.also = 2*time.Second, map[string]string{"-page-1-waiting": "page_waiting"}
	cancelledWaiting := event("notify_paged_cancelled_waiting", withWaiting(large(1)), onlyWaiting(2))
	cancelledWaiting.waits, cancelledWaiting.meanwhile = 24*time.Hour, cancelWithWaitingPages
	cancelledWaiting.also = map[string]string{"-page-1-waiting": "page_cancelled_waiting"}
	cancelled := event("notify_cancelled", small())
	cancelled.send, cancelled.meanwhile = outage, cancelWithOpenChild
	cancelledPages := event("notify_paged_cancelled", large(1), large(2))
	cancelledPages.send, cancelledPages.meanwhile = outage, cancelWithOpenPage
	cancelledPages.also = map[string]string{"-page-1": "page_cancelled"}
	late := event("notify_cancelled_late", small())
	late.send, late.meanwhile = emailWhenReleased, cancelSendingChild
	latePages := event("notify_paged_cancelled_late", large(1), large(2))
	latePages.send, latePages.meanwhile = emailWhenReleased, cancelSendingChild
	return []*scenario{
		event("notify_sent", small()),
		event("notify_nothing_selected", activities.PlanResult{}),
		event("notify_no_recipients", activities.PlanResult{Outcome: activities.NoRecipients, Problem: nobody}),
		event("notify_no_routing", activities.PlanResult{Outcome: activities.NoRouting, Problem: unrouted}),
		event("notify_failed"),
		failing, paged, waiting, cancelled, cancelledPages, cancelledWaiting, late, latePages,
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
	return activities.PlanResult{Batch: two, Stored: notification.IDRange{First: 10, Last: 11}, Immediate: 2}
}

// large is the n-th page of a broadcast, all of which is to be sent at once.
func large(n int64) activities.PlanResult {
	return activities.PlanResult{Stored: notification.IDRange{First: n * 10, Last: n*10 + 1}, Immediate: 2}
}

// withWaiting is a page with two deliveries more, which wait.
func withWaiting(page activities.PlanResult) activities.PlanResult {
	page.Stored.Last, page.Waiting = page.Stored.Last+2, 2
	return page
}

// onlyWaiting is the n-th page of a broadcast, all of which waits.
func onlyWaiting(n int64) activities.PlanResult {
	page := large(n)
	page.Immediate, page.Waiting = 0, 2
	return page
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

// cancelWithWaitingPages cancels an event when the deliveries of its waiting
// pages wait, and what could be sent of the first page was sent.
func cancelWithWaitingPages(ctx context.Context, temporal client.Client, s *scenario) error {
	for _, page := range []int{1, 2} {
		for _, channel := range notification.Channels()[2:4] {
			child := notification.DeliveryID(s.id, notification.RestaurantUser, strconv.Itoa(page*10), channel)
			if err := begun(ctx, temporal, child); err != nil {
				return err
			}
			if err := happened(ctx, temporal, child, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
				return err
			}
		}
		waiting := fmt.Sprintf("%s-page-%d-waiting", s.id, page)
		started := enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
		if err := happened(ctx, temporal, waiting, started, started, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED); err != nil {
			return err
		}
	}
	if err := happened(ctx, temporal, s.id, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED); err != nil {
		return err
	}
	return temporal.CancelWorkflow(ctx, s.id, "")
}

// begun waits until a workflow exists.
func begun(ctx context.Context, temporal client.Client, id string) error {
	return await(ctx, func() (bool, error) {
		_, err := temporal.DescribeWorkflowExecution(ctx, id, "")
		var early *serviceerror.NotFound
		if errors.As(err, &early) {
			return false, nil
		}
		return err == nil, err
	})
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

// cancelSendingChild cancels an event one of whose deliveries still comes to
// its end, after the event has seen that it was asked not to.
func cancelSendingChild(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := cancelWhenReached(ctx, temporal, s); err != nil {
		return err
	}
	defer close(s.released)
	return happened(ctx, temporal, s.id, enums.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
}

func emailWhenReleased(ctx context.Context, s *scenario, in activities.SendInput) (activities.SendResult, error) {
	if in.DeliveryID != notification.DeliveryID(s.id, notification.RestaurantUser, "10", notification.Email) {
		return activities.SendResult{Status: notification.Sent}, nil
	}
	return sentWhenReleased(ctx, s, in)
}
