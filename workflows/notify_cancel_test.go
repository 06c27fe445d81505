package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// A cancelled event cancels its lanes, escalations and deliveries, open or waiting. It waits for
// their ends, because a cancelled delivery may still be sent. Deliveries that wait for a slot, or
// are planned during the cancellation, never begin.
func TestNotifyEventCancelled(t *testing.T) {
	t.Parallel()

	const soon = 10 * time.Second
	planned := func(b activities.DeliveryBatch, end func(workflow.Context, workflows.DeliverInput) error) func(env *environment) {
		return func(env *environment) {
			env.deliveries.end = end
			env.plans(notification.Cursor{}, onlyPage(b))
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
		}
	}
	tests := []struct {
		name               string
		in                 workflows.NotifyInput
		arrange            func(env *environment)
		started, cancelled int
	}{
		{name: "more deliveries than slots", in: notifyInput, arrange: planned(batch(150), takes[workflows.DeliverInput](10*time.Hour)),
			started: 100, cancelled: 100},
		{name: "waiting deliveries", in: notifyInput, arrange: planned(waiting(batch(150)), takes[workflows.DeliverInput](10*time.Hour)),
			started: 150, cancelled: 150},
		{name: "deliveries that are sent anyway",
			in: notifyInput, arrange: planned(batch(2), func(ctx workflow.Context, _ workflows.DeliverInput) error {
				ctx, cancel := workflow.NewDisconnectedContext(ctx)
				defer cancel()
				return workflow.Sleep(ctx, time.Hour)
			}), started: 2},
		{name: "lanes", in: notifyInput, arrange: func(env *environment) {
			env.lanes.end = takes[workflows.ChannelInput](10 * time.Hour)
			env.plans(cursor(0), inLanes(1, 2, mails, laterSMS))
			env.plans(cursor(1), inLanes(2, 2, mails, laterSMS))
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
		}, cancelled: 2},
		{name: "an escalation", in: notifyInput, arrange: func(env *environment) {
			env.escalations.end = takes[workflows.EscalateInput](time.Hour)
			planned(escalatingPlan().Batch, nil)(env)
		}, started: 1, cancelled: 1},
		{name: "during planning", in: notifyInput, arrange: func(env *environment) {
			env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(activities.PlanResult{}, panicky.err) // every attempt fails
			env.RegisterDelayedCallback(env.CancelWorkflow, soon)
		}},
		{name: "during the first task", in: notifyInput, arrange: func(env *environment) {
			env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(onlyPage(batch(2)), nil).Once().Run(func(mock.Arguments) {
				env.CancelWorkflow()
			})
		}},
		{name: "before it cancels another event", in: cancelsEvt0, arrange: func(env *environment) {
			env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{}, panicky.err)
			env.RegisterDelayedCallback(env.CancelWorkflow, soon)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			tt.arrange(env)
			env.finishes("CANCELLED")

			env.ExecuteWorkflow(workflows.NotifyEvent, tt.in)

			env.requireCancelled(t)
			require.Len(t, env.deliveries.started, tt.started)
			require.Equal(t, tt.cancelled, env.deliveries.cancelled+env.lanes.cancelled+env.escalations.cancelled)
			require.Zero(t, env.deliveries.open)
		})
	}
}

// Cancelling an event does not cancel its message. The event ends in the tables at once, and its
// workflow continues until RabbitMQ has the message.
func TestNotifyEventCancelledWhilePublishing(t *testing.T) {
	t.Parallel()

	in, env := notifyInput, newEnv(t)
	in.Publish = true
	var done []string
	var cancelled time.Time
	publishes := activities.PublishEventInput{EventID: eventID}
	env.OnActivity(acts.PublishEvent, mock.Anything,
		publishes).Return(func(context.Context, activities.PublishEventInput) (activities.PublishEventResult, error) {
		if cancelled.IsZero() || env.Now().Before(cancelled.Add(time.Minute)) {
			return activities.PublishEventResult{}, panicky.err
		}
		done = append(done, "published")
		return activities.PublishEventResult{}, nil
	})
	env.plans(notification.Cursor{}, onlyPage(batch(2)))
	env.RegisterDelayedCallback(func() {
		cancelled = env.Now()
		env.CancelWorkflow()
	}, 10*time.Second)
	env.OnActivity(acts.FinishEvent, mock.Anything, activities.FinishEventInput{EventID: eventID, Outcome: notification.EventCancelled}).
		Return(notification.Counts{Outcome: notification.EventCancelled}, nil).Once().Run(func(mock.Arguments) { done = append(done, "ended") })

	env.ExecuteWorkflow(workflows.NotifyEvent, in)

	env.requireCancelled(t)
	require.Len(t, env.deliveries.started, 2)
	require.Zero(t, env.deliveries.cancelled) // the deliveries had ended
	require.Equal(t, []string{"ended", "published"}, done)
}

var (
	cancelsEvt0  = workflows.NotifyInput{EventID: eventID, Source: "orders", Cancels: "evt-0"}
	cancellation = activities.CancelEventInput{EventID: "evt-0", By: eventID}
)

// An event that cancels another event does this before it notifies anybody. It retries after
// failures.
func TestNotifyEventCancelsAnother(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	before := map[notification.Status]int{notification.Cancelled: 3, notification.Sent: 1}
	env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{}, panicky.err).Times(3)
	env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{Deliveries: before}, nil).Once()
	env.plans(notification.Cursor{}, onlyPage(batch(2)))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, cancelsEvt0)

	env.requireNotified(t, workflows.NotifyResult{Cancelled: before})
	require.ElementsMatch(t, inputs(batch(2)), env.deliveries.started)
}
