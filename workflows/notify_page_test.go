package workflows_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// A page starts all waiting deliveries at once: with a later time, with an escalation, or in a
// digest. Other deliveries need slots. A database outage or a failed delivery does not stop other
// deliveries.
func TestNotifyPage(t *testing.T) {
	t.Parallel()

	digests := batch(230)
	for i := range 130 {
		digests.Deliveries[i].Later = true
	}
	digests.Deliveries[229].Later = true
	escalating := batch(130)
	for i := range escalating.Deliveries {
		escalating.Deliveries[i].Escalation = &notification.Escalation{
			From: notification.Email, To: notification.SMS, After: 24 * time.Hour, Until: notification.UntilRead,
		}
	}
	fails := func(workflow.Context, workflows.DeliverInput) error {
		return temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed)
	}
	terminated := func(workflow.Context, workflows.DeliverInput) error { return &temporal.TerminatedError{} }
	tests := []struct {
		name     string
		outages  int
		listed   activities.DeliveryBatch
		end      func(workflow.Context, workflows.DeliverInput) error
		mostOpen int
	}{
		{name: "empty", listed: batch(0)},
		{name: "one", listed: batch(1), mostOpen: 1},
		{name: "as many as slots", listed: batch(100), mostOpen: 100},
		{name: "more than slots", listed: batch(130), mostOpen: 100},
		{name: "no waiting deliveries", listed: waiting(batch(0))},
		{name: "130 waiting deliveries", listed: waiting(batch(130)), mostOpen: 130},
		{name: "items of digests, and 99 deliveries without a wait", listed: digests, mostOpen: 230},
		{name: "deliveries with an escalation", listed: escalating, mostOpen: 130},
		{name: "after an outage", outages: 4, listed: batch(2), mostOpen: 2},
		{name: "deliveries that somebody terminates", listed: batch(2), end: terminated, mostOpen: 1},
		{name: "deliveries that fail", listed: batch(2), end: fails, mostOpen: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.deliveries.end = takes[workflows.DeliverInput](10 * time.Hour)
			if tt.end != nil {
				env.deliveries.end = tt.end
			}
			for range tt.outages {
				env.lists(activities.DeliveryBatch{}, panicky.err)
			}
			env.lists(tt.listed, nil)

			env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

			require.NoError(t, env.GetWorkflowError())
			require.ElementsMatch(t, inputs(tt.listed), env.deliveries.started)
			require.Equal(t, tt.mostOpen, env.deliveries.mostOpen)
		})
	}
}

// A page with more rows than one list reads the next list.
func TestNotifyPageReadsListAfterList(t *testing.T) {
	t.Parallel()

	env, second := newEnv(t), activities.ListInput{Part: partOf(laterMails, 3)}
	all := batch(5)
	head, tail := activities.ListResult{DeliveryBatch: all, Next: 204}, activities.ListResult{DeliveryBatch: all}
	head.Deliveries, tail.Deliveries = all.Deliveries[:3], all.Deliveries[3:]
	env.OnActivity(acts.ListDeliveries, mock.Anything, second).Return(head, nil).Once()
	second.IDs.First = 204
	env.OnActivity(acts.ListDeliveries, mock.Anything, second).Return(tail, nil).Once()

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, inputs(all), env.deliveries.started)
}

// An event that is started again retries only failed deliveries.
func TestNotifyPageRetriesOnlyFailedDeliveries(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		end   error // the error of the first delivery, which is listed again after its end
		asked int   // the calls of AwaitHolder
		want  int
	}{
		{name: "sent", asked: 1, want: 100},
		{name: "failed", end: temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed), want: 101},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, all := newEnv(t), batch(100)
			env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
				if in.DeliveryID == all.Deliveries[0].DeliveryID {
					return tt.end
				}
				return workflow.Sleep(ctx, time.Minute)
			}
			all.Deliveries = append(all.Deliveries, all.Deliveries[0])
			env.lists(all, nil)
			if tt.asked > 0 {
				env.holder(all.Deliveries[0]).Return(activities.HolderResult{State: activities.WorkflowCompleted}, nil).Times(tt.asked)
			}

			env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

			require.NoError(t, env.GetWorkflowError())
			require.Len(t, env.deliveries.started, tt.want)
		})
	}
}

// If a closing earlier run or a retry still has a delivery's id, the delivery starts after that
// workflow's end.
func TestNotifyPageWaitsForTheHolderOfAnID(t *testing.T) {
	t.Parallel()

	env, all := newEnv(t), batch(2)
	all.Deliveries[1] = all.Deliveries[0] // its workflow ID is in use
	env.lists(all, nil)
	running := temporal.NewApplicationError("the workflow still runs", activities.StillRunning)
	asked := 0
	env.holder(all.Deliveries[0]).Return(func(context.Context, activities.HolderInput) (activities.HolderResult, error) {
		if asked++; env.deliveries.open > 0 {
			env.deliveries.end = func(workflow.Context, workflows.DeliverInput) error { return nil }
			return activities.HolderResult{}, running
		}
		return activities.HolderResult{}, nil
	})
	env.deliveries.end = func(ctx workflow.Context, _ workflows.DeliverInput) error {
		_ = workflow.Sleep(ctx, time.Minute)
		return errors.New("terminated")
	}

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, inputs(all), env.deliveries.started)
	require.Greater(t, asked, 2, "AwaitHolder was not retried")
}

// If somebody terminates the workflow that has a delivery's id, the delivery does not start again.
func TestNotifyPageWithATerminatedHolder(t *testing.T) {
	t.Parallel()

	env, all := newEnv(t), batch(2)
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	all.Deliveries[1] = all.Deliveries[0] // its workflow ID is in use
	env.lists(all, nil)
	env.holder(all.Deliveries[0]).Return(activities.HolderResult{State: activities.WorkflowTerminated}, nil).Once()

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.deliveries.started, 1)
}

// If another type of workflow has the id, only that delivery fails.
func TestNotifyPageWithATakenID(t *testing.T) {
	t.Parallel()

	env, all := newEnv(t), batch(3)
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	all.Deliveries[1] = all.Deliveries[0]
	env.lists(all, nil)
	env.holder(all.Deliveries[0]).Return(activities.HolderResult{Other: "the workflow NotifyEvent of task queue herald-events"}, nil).Once()
	env.OnActivity(acts.GiveUp, mock.Anything, activities.GiveUpInput{
		DeliveryID: all.Deliveries[0].DeliveryID, Channel: notification.Email, Status: notification.Failed,
		Reason: "the id is taken by the workflow NotifyEvent of task queue herald-events",
	}).Return(notification.Failed, nil).Once()

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.deliveries.started, 2)
}

// holder expects the call of AwaitHolder for a delivery's id.
func (e *environment) holder(d notification.Delivery) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.AwaitHolder, mock.Anything,
		activities.HolderInput{WorkflowID: d.DeliveryID, Type: deliverNotification, TaskQueue: "herald-email"})
}

// pageInput returns the input of the n-th page.
func pageInput(n int) workflows.PageInput {
	return workflows.PageInput{Part: partOf(laterMails, n), EventType: "RESERVATION_REQUESTED", Aggregate: aggregate}
}

// partOf returns the n-th stretch of a lane, as a part.
func partOf(lane notification.Lane, n int) notification.Part {
	return notification.Part{EventID: eventID, Lane: lane, IDs: stored(n)}
}

// lists expects that the third page is read.
func (e *environment) lists(b activities.DeliveryBatch, err error) {
	in := activities.ListInput{Part: partOf(laterMails, 3)}
	e.OnActivity(acts.ListDeliveries, mock.Anything, in).Return(activities.ListResult{DeliveryBatch: b}, err).Once()
}

// Deliveries that their attempts hold back give their slots to the others. When all that are left wait, the
// page tells its lane so.
func TestNotifyPageGoesOnWhileDeliveriesWait(t *testing.T) {
	t.Parallel()

	const waiting, others = 400, 50
	env, all := newEnv(t), batch(waiting+others)
	waits := map[string]bool{}
	for _, d := range all.Deliveries[:waiting] {
		waits[d.DeliveryID] = true
	}
	start := env.Now()
	var sent []time.Duration
	env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
		if waits[in.DeliveryID] {
			tellWaiting(ctx)
			return workflow.Sleep(ctx, 24*time.Hour)
		}
		sent = append(sent, workflow.Now(ctx).Sub(start))
		return nil
	}
	env.lists(all, nil)

	told := env.runsAsChild(realPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, sent, others)
	require.Less(t, slices.Max(sent), time.Minute)
	require.Len(t, told, 1)
	require.Less(t, told[0], time.Minute)
	require.GreaterOrEqual(t, env.deliveries.mostOpen, waiting)
}

// cancelsUnsent expects that a part of the event cancels its unsent deliveries.
func (e *environment) cancelsUnsent(part notification.Part) {
	in := activities.CancelPartInput{Part: part, Reason: notification.CancelledInTemporal}
	e.OnActivity(acts.CancelPart, mock.Anything, in).Return(activities.CancelPartResult{Cancelled: 50}, nil).Once()
}

// Deliveries that wait, or whose channel is blocked, do not delay other deliveries, even if they
// come first and outnumber the slots.
func TestWaitingDeliveriesDelayNoOtherDeliveries(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		delay    func(d *notification.Delivery)
		mostOpen int           // open deliveries, other deliveries included
		want     time.Duration // end of the last delivery
	}{
		{name: "waiting", delay: func(d *notification.Delivery) { d.Later = true }, mostOpen: 130 + 100, want: 10 * time.Hour},
		{name: "another channel", delay: func(d *notification.Delivery) { d.Channel = notification.SMS }, mostOpen: 100 + 100,
			want: 20 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, all := newEnv(t), batch(260)
			all.Policies[notification.SMS] = policy(notification.SMS)
			for i := range 130 {
				tt.delay(&all.Deliveries[i])
			}
			var sent []time.Duration
			start := env.Now()
			env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
				if !in.HoldsSlot || in.Channel == notification.SMS {
					return workflow.Sleep(ctx, 10*time.Hour)
				}
				defer func() { sent = append(sent, workflow.Now(ctx).Sub(start)) }()
				return workflow.Sleep(ctx, time.Second)
			}
			env.plans(notification.Cursor{}, onlyPage(all))
			env.finishes("")

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

			env.requireNotified(t, workflows.NotifyResult{})
			require.ElementsMatch(t, inputs(all), env.deliveries.started)
			require.Equal(t, tt.mostOpen, env.deliveries.mostOpen)
			require.Len(t, sent, 130)
			require.Equal(t, 2*time.Second, sent[129]) // 100 deliveries, then 30
			require.Equal(t, tt.want, env.Now().Sub(start))
		})
	}
}
