package main

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// events returns the outcomes of events and their pages.
func events() []*scenario {
	const nobody, unrouted = "restaurantId is not in the payload", "event type RESERVATION_REQUESTED has no rows in event_type_channel_routing"
	failing := event("notify_partly_failed", small())
	failing.send = refuse
	cancelled := event("notify_cancelled", small())
	cancelled.send, cancelled.meanwhile = outage, []step{withOpenChild, cancel}
	late := event("notify_cancelled_late", small())
	late.send, late.meanwhile = emailWhenReleased, cancelLate
	planning := event("notify_cancelled_planning", small())
	planning.planning, planning.meanwhile = true, []step{underWay, cancel}
	incomplete := event("notify_incomplete", small())
	incomplete.outcome = notification.Incomplete
	held := event("notify_waits_for_holder", small())
	held.before, held.meanwhile = []step{holdID(notification.Email)}, []step{asking, endHolder}
	taken := event("notify_id_taken", small())
	taken.before = []step{holdID(notification.SMS)}
	again := event("notify_again", small()) // its first local activity fails
	again.away = true
	lost := event("notify_end_lost", small()) // it is cancelled while it ends
	lost.finishing, lost.meanwhile = true, []step{underWay, cancel, release}
	taking := event("notify_cancels", small()) // it cancels another event
	taking.input = []any{workflows.NotifyInput{CommandVersion: workflows.CommandVersion, Cancels: "evt-0"}}
	return []*scenario{
		event("notify_sent", small()),
		event("notify_nothing_selected", activities.PlanResult{}),
		event("notify_no_recipients", activities.PlanResult{Outcome: notification.NoRecipients, Problem: nobody}),
		event("notify_no_routing", activities.PlanResult{Outcome: notification.NoRouting, Problem: unrouted}),
		event("notify_failed"),
		failing, cancelled, late, planning, incomplete, held, taken, again, lost, taking,
	}
}

func event(name string, pages ...activities.PlanResult) *scenario {
	return &scenario{
		name: name, pages: pages, workflow: workflows.NotifyEvent, queue: workflows.EventsQueue(prefix),
		input: []any{workflows.NotifyInput{Publish: true, CommandVersion: workflows.CommandVersion}},
	}
}

// small returns the only page of an event, with two deliveries.
func small() activities.PlanResult {
	two := activities.DeliveryBatch{Deliveries: make([]notification.Delivery, 2)} // filled in when the event has an id
	return activities.PlanResult{Batch: two}
}

// withOpenChild waits until one of the event's deliveries has begun.
func withOpenChild(ctx context.Context, temporal client.Client, s *scenario) error {
	return openChild(ctx, temporal, s.id, emailOf(s))
}

// emailOf returns the id of the e-mail on an event's only page.
func emailOf(s *scenario) string {
	return notification.DeliveryID(s.id, "staff", "10", notification.Email)
}

// holdID starts a delivery with the id of the event's e-mail, on the queue of a channel. It
// waits for an hour.
func holdID(channel notification.Channel) step {
	return func(ctx context.Context, temporal client.Client, s *scenario) error {
		options := client.StartWorkflowOptions{ID: emailOf(s), TaskQueue: workflows.ChannelQueue(prefix, channel), WorkflowRunTimeout: time.Minute}
		in := workflows.DeliverInput{DeliveryID: options.ID, Channel: channel, SendAfter: time.Now().UTC().Add(time.Hour), Policy: policy(channel)}
		_, err := temporal.ExecuteWorkflow(ctx, options, workflows.DeliverNotification, in)
		return err
	}
}

// asking waits until the event has asked for the holder of the id.
var asking = showing(enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)

// endHolder terminates the workflow that has the id.
func endHolder(ctx context.Context, temporal client.Client, s *scenario) error {
	return temporal.TerminateWorkflow(ctx, emailOf(s), "", "it was in the way")
}

// openChild waits until a child has made an attempt, and its parent knows of a child.
func openChild(ctx context.Context, temporal client.Client, parent, child string) error {
	if err := backingOff(ctx, temporal, child); err != nil {
		return fmt.Errorf("wait for an attempt of %s: %w", child, err)
	}
	return happened(ctx, temporal, parent, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)
}

// cancelLate cancels an event. One of its deliveries ends after the event saw the cancellation.
var cancelLate = []step{
	underWay, cancel,
	showing(enums.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED), release,
}

func emailWhenReleased(ctx context.Context, s *scenario, in activities.SendInput) (activities.SendResult, error) {
	if in.DeliveryID != emailOf(s) {
		return activities.SendResult{Status: notification.Sent}, nil
	}
	return sentWhenReleased(ctx, s, in)
}

// CancelEvent reports that nothing is left to cancel.
func (a *actors) CancelEvent(context.Context, activities.CancelEventInput) (activities.CancelEventResult, error) {
	return activities.CancelEventResult{}, nil
}
