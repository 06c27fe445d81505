package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var (
	mails     = notification.Lane{Channel: notification.Email}
	laterSMS  = notification.Lane{Channel: notification.SMS, Waiting: true}
	websocket = notification.Lane{Channel: notification.WebSocket}
)

// inLanes is the plan of the pages up to the n-th of last.
func inLanes(n, last int, lanes ...notification.Lane) activities.PlanResult {
	planned := activities.PlanResult{Lanes: lanes}
	if n < last {
		next := cursor(n)
		planned.Next = &next
	}
	return planned
}

func laneInput(lane notification.Lane) workflows.ChannelInput {
	return workflows.ChannelInput{EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate, Lane: lane}
}

// untilPlanned is a lane that ends when it hears that all recipients are planned.
func untilPlanned(ctx workflow.Context, in workflows.ChannelInput) error {
	if !in.Planned {
		workflow.GetSignalChannel(ctx, "all-planned").Receive(ctx, nil)
	}
	return nil
}

// A large event has one workflow per channel and kind, as soon as there is
// something for it, which is told when all recipients are planned.
func TestNotifyEventStartsLanes(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.lanes.end = untilPlanned
	env.plans(cursor(0), inLanes(1, 3, mails))
	env.plans(cursor(1), inLanes(2, 3, mails, laterSMS))
	env.plans(cursor(2), inLanes(3, 3, websocket, mails, laterSMS))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, []string{"evt-1-lane-EMAIL", "evt-1-lane-SMS-waiting", "evt-1-lane-WEBSOCKET"}, sorted(env.lanes.ids))
	last := laneInput(websocket)
	last.Planned = true // by then
	require.ElementsMatch(t, []workflows.ChannelInput{laneInput(mails), laneInput(laterSMS), last}, env.lanes.started)
	require.Empty(t, env.deliveries.started)
}

// A page of recipients may be followed by a great many rows of an earlier planning.
func TestNotifyEventStartsLanesForAnOnlyPage(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.lanes.end = untilPlanned
	env.plans(cursor(0), inLanes(1, 1, mails))
	env.finishesWith("", "INCOMPLETE", "")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{Outcome: "INCOMPLETE"})
	require.Len(t, env.lanes.started, 1)
}

// A lane of an earlier run that still closes is waited for, and the new one knows
// what happened meanwhile.
func TestNotifyEventWaitsForALaneThatCloses(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.RegisterWorkflow(takesSeconds)
	env.lanes.end = untilPlanned
	env.plans(cursor(0), inLanes(1, 2, mails))
	env.plans(cursor(1), inLanes(2, 2, mails))
	env.finishes("")
	holder := activities.HolderInput{WorkflowID: "evt-1-lane-EMAIL", Type: notifyChannel, TaskQueue: "default-test-taskqueue"}
	env.OnActivity(acts.AwaitHolder, mock.Anything, holder).Return(activities.HolderResult{}, temporal.NewApplicationError("it still runs", activities.StillRunning)).Times(5)
	env.OnActivity(acts.AwaitHolder, mock.Anything, holder).Return(activities.HolderResult{Completed: true}, nil)

	env.ExecuteWorkflow(func(ctx workflow.Context) (workflows.NotifyResult, error) {
		earlier := workflow.WithWorkflowID(ctx, "evt-1-lane-EMAIL")
		if err := workflow.ExecuteChildWorkflow(earlier, takesSeconds).GetChildWorkflowExecution().Get(ctx, nil); err != nil {
			return workflows.NotifyResult{}, err
		}
		return workflows.NotifyEvent(ctx, notifyInput)
	})

	env.requireNotified(t, workflows.NotifyResult{})
	want := laneInput(mails)
	want.Planned = true
	require.Equal(t, []workflows.ChannelInput{want}, env.lanes.started)
}

func takesSeconds(ctx workflow.Context) error { return workflow.Sleep(ctx, 10*time.Second) }

func TestNotifyEventCancelledWithLanes(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.lanes.end = takes[workflows.ChannelInput](10 * time.Hour)
	env.plans(cursor(0), inLanes(1, 2, mails, laterSMS))
	env.plans(cursor(1), inLanes(2, 2, mails, laterSMS))
	env.finishes("CANCELLED")
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireCancelled(t)
	require.Equal(t, 2, env.lanes.cancelled)
}

// What was planned is delivered, though the rest cannot be planned.
func TestNotifyEventFailsBehindItsLanes(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.lanes.end = untilPlanned
	env.plans(cursor(0), inLanes(1, 2, mails))
	env.OnActivity(acts.PlanDeliveries, mock.Anything, mock.Anything).Return(activities.PlanResult{}, temporal.NewNonRetryableApplicationError("gone", activities.NoSuchRow, nil)).Once()
	env.finishes("FAILED")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireFailure(t, activities.NoSuchRow)
	require.Len(t, env.lanes.started, 1)
	require.Zero(t, env.lanes.open)
}
