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
	mails      = notification.Lane{Channel: notification.Email}
	laterMails = notification.Lane{Channel: notification.Email, Waiting: true}
	laterSMS   = notification.Lane{Channel: notification.SMS, Waiting: true}
	websocket  = notification.Lane{Channel: notification.WebSocket}
)

// inLanes returns the plan of the pages up to page n of `last`.
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

// untilPlanned runs as a lane until the signal that all recipients are planned.
func untilPlanned(ctx workflow.Context, in workflows.ChannelInput) error {
	if !in.Planned {
		workflow.GetSignalChannel(ctx, "all-planned").Receive(ctx, nil)
	}
	return nil
}

// A large event starts one workflow per channel and kind, as soon as there are deliveries for it.
// The workflow gets a signal when all recipients are planned. The first page decides for all lanes
// whether they go in batches, also for later lanes. Deliveries that wait never go in batches.
func TestNotifyEventStartsLanes(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	first := inLanes(1, 3, mails)
	first.Bulk = true
	env.plans(cursor(0), first)
	env.plans(cursor(1), inLanes(2, 3, mails, laterSMS))
	env.plans(cursor(2), inLanes(3, 3, websocket, mails, laterSMS))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, []string{"evt-1-lane-EMAIL", "evt-1-lane-SMS-waiting", "evt-1-lane-WEBSOCKET"}, sorted(env.lanes.ids))
	last := laneInput(websocket)
	last.Bulk, last.Planned = true, true // now all recipients are planned
	require.ElementsMatch(t, []workflows.ChannelInput{bulkInput(), laneInput(laterSMS), last}, env.lanes.started)
	require.Empty(t, env.deliveries.started)
	require.Contains(t, env.lanes.found,
		map[string]string{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldChannel": "SMS"})
}

// Only the first page reports skipped people. Later pages do not overwrite its problem, unless
// another event cancels this event.
func TestNotifyEventKeepsTheProblemOfItsFirstPage(t *testing.T) {
	t.Parallel()

	for outcome, want := range map[notification.EventOutcome]string{
		"": "two members have no user type", notification.EventCancelled: "cancelled by event evt-2",
	} {
		env := newEnv(t)
		first, last := inLanes(1, 2, mails), inLanes(2, 2, mails)
		first.Problem = "two members have no user type"
		if last.Outcome = outcome; outcome != "" {
			last.Problem = want
		}
		env.plans(cursor(0), first)
		env.plans(cursor(1), last)
		env.finishesWith(outcome, "PROBLEM", want)

		env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

		env.requireNotified(t, workflows.NotifyResult{Outcome: "PROBLEM", Problem: want})
	}
}

// A lane that an operator cancels or terminates stays so: deliveries that the event plans for it
// afterwards are cancelled, too. The other lanes continue, and the event succeeds.
func TestNotifyEventWithAStoppedLane(t *testing.T) {
	t.Parallel()

	for reason, stopped := range map[notification.EndReason]error{
		notification.CancelledInTemporal: temporal.NewCanceledError(), notification.TerminatedInTemporal: &temporal.TerminatedError{},
	} {
		env := newEnv(t)
		env.lanes.end = func(ctx workflow.Context, in workflows.ChannelInput) error {
			if in.Lane == mails {
				return stopped
			}
			return untilPlanned(ctx, in)
		}
		env.plans(cursor(0), inLanes(1, 2, mails, websocket))
		planned, cancelledAfter := false, false
		env.OnActivity(acts.PlanDeliveries, mock.Anything, mock.Anything).After(time.Minute).Return(inLanes(2, 2, mails, websocket),
			nil).Once().Run(func(mock.Arguments) { planned = true })
		in := activities.CancelPartInput{Part: notification.Part{EventID: eventID, Lane: mails}, Reason: reason}
		env.OnActivity(acts.CancelPart, mock.Anything, in).Return(activities.CancelPartResult{}, nil).Run(func(mock.Arguments) {
			cancelledAfter = planned
		})
		env.finishes("")

		env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

		env.requireNotified(t, workflows.NotifyResult{})
		require.True(t, cancelledAfter)
		require.Len(t, env.lanes.started, 2, "the stopped lane is not started again")
	}
}

// A lane of an earlier run is still closing. The event waits for it, then starts a lane that knows
// the changes made meanwhile.
func TestNotifyEventWaitsForALaneThatCloses(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterWorkflow(takesSeconds)
	env.plans(cursor(0), inLanes(1, 2, mails))
	env.plans(cursor(1), inLanes(2, 2, mails))
	env.finishes("")
	holder := activities.HolderInput{WorkflowID: "evt-1-lane-EMAIL", Type: notifyChannel, TaskQueue: "default-test-taskqueue"}
	env.OnActivity(acts.AwaitHolder, mock.Anything, holder).Return(activities.HolderResult{},
		temporal.NewApplicationError("the workflow still runs", activities.StillRunning)).Times(5)
	env.OnActivity(acts.AwaitHolder, mock.Anything, holder).Return(activities.HolderResult{State: activities.WorkflowCompleted}, nil)

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

// Planned deliveries are sent, even if later pages cannot be planned.
func TestNotifyEventFailsAfterItsLanesStarted(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.plans(cursor(0), inLanes(1, 2, mails))
	env.OnActivity(acts.PlanDeliveries, mock.Anything, mock.Anything).Return(activities.PlanResult{},
		temporal.NewNonRetryableApplicationError("gone", activities.NoSuchRow, nil)).Once()
	env.finishes("FAILED")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireFailure(t, activities.NoSuchRow)
	require.Len(t, env.lanes.started, 1)
	require.Zero(t, env.lanes.open)
}
