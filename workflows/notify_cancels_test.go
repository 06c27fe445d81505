package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var (
	cancelsEvt0  = workflows.NotifyInput{EventID: eventID, Source: "orders", Commands: workflows.Commands, Cancels: "evt-0"}
	cancellation = activities.CancelEventInput{EventID: "evt-0", By: eventID}
)

// What an event takes back is cancelled before it tells anybody itself. Failures are
// waited out.
func TestNotifyEventCancelsAnother(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	before := map[notification.Status]int{notification.Cancelled: 3, notification.Sent: 1}
	env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{}, panicky.err).Times(3)
	env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{Deliveries: before}, nil).Once()
	env.plans(notification.Cursor{}, onlyPage(batch(2)))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, cancelsEvt0)

	env.requireNotified(t, workflows.NotifyResult{Cancelled: before})
	require.ElementsMatch(t, inputs(batch(2)), env.deliveries.started)
}

// An event that is cancelled before it could take another back tells nobody.
func TestNotifyEventCancelledWhileItCancels(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.OnActivity(acts.CancelEvent, mock.Anything, cancellation).Return(activities.CancelEventResult{}, panicky.err)
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.finishes("CANCELLED")

	env.ExecuteWorkflow(workflows.NotifyEvent, cancelsEvt0)

	env.requireCancelled(t)
	require.Empty(t, env.deliveries.started)
}

// An event that finds itself taken back ends as one that was cancelled while it ran,
// also where the rest of it was on its way.
func TestNotifyEventThatIsTakenBack(t *testing.T) {
	t.Parallel()

	taken := activities.PlanResult{Outcome: notification.EventCancelled, Problem: "cancelled by event evt-2"}
	for _, pages := range []int{1, 2} {
		env := newEventEnv(t)
		if pages == 2 {
			next := cursor(1)
			env.plans(notification.Cursor{}, activities.PlanResult{Next: &next})
			env.plans(next, taken)
		} else {
			env.plans(notification.Cursor{}, taken)
		}
		env.finishesWith("CANCELLED", "CANCELLED", taken.Problem)

		env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

		env.requireNotified(t, workflows.NotifyResult{Outcome: notification.EventCancelled, Problem: taken.Problem})
		require.Empty(t, env.deliveries.started)
	}
}
