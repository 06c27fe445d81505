package main

import (
	"context"
	"errors"
	"fmt"
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
	cancelled := event("notify_cancelled", small())
	cancelled.send, cancelled.meanwhile = outage, cancelWithOpenChild
	late := event("notify_cancelled_late", small())
	late.send, late.meanwhile = emailWhenReleased, cancelSendingChild
	planning := event("notify_cancelled_planning", small())
	planning.planning, planning.meanwhile = true, cancelWhenReached
	incomplete := event("notify_incomplete", small())
	incomplete.outcome = notification.Incomplete
	held := event("notify_waits_for_holder", small())
	held.before, held.meanwhile = holdID(notification.Email), endHolder
	taken := event("notify_id_taken", small())
	taken.before = holdID(notification.SMS)
	return []*scenario{
		event("notify_sent", small()),
		event("notify_nothing_selected", activities.PlanResult{}),
		event("notify_no_recipients", activities.PlanResult{Outcome: notification.NoRecipients, Problem: nobody}),
		event("notify_no_routing", activities.PlanResult{Outcome: notification.NoRouting, Problem: unrouted}),
		event("notify_failed"),
		failing, cancelled, late, planning, incomplete, held, taken,
	}
}

func event(name string, pages ...activities.PlanResult) *scenario {
	return &scenario{
		name: name, pages: pages, workflow: workflows.NotifyEvent, queue: workflows.EventsQueue(prefix),
		input: []any{workflows.NotifyInput{Publish: true, Commands: workflows.Commands}},
	}
}

// small is the only page of an event, with two deliveries.
func small() activities.PlanResult {
	two := activities.DeliveryBatch{Deliveries: make([]notification.Delivery, 2)} // filled in when the event has an id
	return activities.PlanResult{Batch: two, Stored: notification.IDRange{First: 10, Last: 11}, Immediate: 2}
}

// cancelWithOpenChild cancels an event one of whose deliveries was begun.
func cancelWithOpenChild(ctx context.Context, temporal client.Client, s *scenario) error {
	child := notification.DeliveryID(s.id, notification.RestaurantUser, "10", notification.Email)
	return cancelOnceBegun(ctx, temporal, s, s.id, child)
}

// emailOf is the delivery by e-mail of an event's only page.
func emailOf(s *scenario) string {
	return notification.DeliveryID(s.id, notification.RestaurantUser, "10", notification.Email)
}

// holdID has a delivery wait for an hour that has the id of the event's e-mail, on
// the queue of a channel.
func holdID(channel notification.Channel) meanwhileFunc {
	return func(ctx context.Context, temporal client.Client, s *scenario) error {
		options := client.StartWorkflowOptions{ID: emailOf(s), TaskQueue: workflows.ChannelQueue(prefix, channel), WorkflowRunTimeout: time.Minute}
		in := workflows.DeliverInput{DeliveryID: options.ID, Channel: channel, SendAfter: time.Now().UTC().Add(time.Hour), Policy: policy(channel)}
		_, err := temporal.ExecuteWorkflow(ctx, options, workflows.DeliverNotification, in)
		return err
	}
}

// endHolder terminates what has the id, once the event has asked who that is.
func endHolder(ctx context.Context, temporal client.Client, s *scenario) error {
	refused := enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED
	if err := happened(ctx, temporal, s.id, refused, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED); err != nil {
		return err
	}
	return temporal.TerminateWorkflow(ctx, emailOf(s), "", "it was in the way")
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
