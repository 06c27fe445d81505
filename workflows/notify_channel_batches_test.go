package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// bulk is a stretch of a bulk lane.
func bulk(n int) activities.NextResult {
	mail := policy(notification.Email)
	return activities.NextResult{IDRange: stored(n), Policy: &mail, Priority: notification.Low}
}

// batchInput is the n-th batch of the lane.
func batchInput(n int) workflows.BatchInput {
	return workflows.BatchInput{
		EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate, Channel: notification.Email,
		IDs: stored(n), Number: n, Priority: notification.Low, Policy: policy(notification.Email),
	}
}

// bulkInput is a lane whose deliveries go in batches.
func bulkInput() workflows.ChannelInput {
	in := laneInput(mails)
	in.Bulk = true
	return in
}

// partial is a stretch that is no whole batch.
func partial(n int) activities.NextResult {
	found := bulk(n)
	found.Partial = true
	return found
}

// answersLooks answers the looks of a lane one after another, and keeps them with their times.
func (e *environment) answersLooks(answers ...activities.NextResult) (asked *[]activities.NextInput, at *[]time.Duration) {
	asked, at = &[]activities.NextInput{}, &[]time.Duration{}
	start := e.Now()
	for _, answer := range answers {
		e.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(answer, nil).Once().Run(func(args mock.Arguments) {
			*asked, *at = append(*asked, args.Get(1).(activities.NextInput)), append(*at, e.Now().Sub(start).Round(time.Millisecond))
		})
	}
	return asked, at
}

// The lane of a bulk event starts batches, which operators can find.
func TestNotifyChannelInBatches(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), bulkInput()
	in.Planned = true
	asked, _ := env.answersLooks(bulk(1), partial(2), activities.NextResult{}, activities.NextResult{})

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []workflows.BatchInput{batchInput(1), batchInput(2)}, env.batches.started)
	require.Equal(t, []string{"evt-1-batch-EMAIL-1", "evt-1-batch-EMAIL-2"}, env.batches.ids)
	require.Equal(t, workflows.BatchID(eventID, notification.Email, 1), env.batches.ids[0])
	require.Equal(t, map[string]string{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldChannel": "EMAIL"}, env.batches.found[0])
	require.Equal(t, activities.NextInput{EventID: eventID, Lane: mails, Bulk: true}, (*asked)[0])
	require.Empty(t, env.pages.started)
	require.Empty(t, env.deliveries.started)
}

// Many batches are open at once, since what failed for now keeps one open until its next
// attempt.
func TestNotifyChannelOpensManyBatches(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), bulkInput()
	in.Planned = true
	env.batches.end = takes[workflows.BatchInput](time.Minute)
	var answers []activities.NextResult
	for n := 1; n <= 120; n++ {
		answers = append(answers, bulk(n))
	}
	env.answersLooks(append(answers, activities.NextResult{}, activities.NextResult{})...)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.batches.started, 120)
	require.Equal(t, 100, env.batches.mostOpen)
}

// While the event plans, a lane sends the first rows at once, without any wait. A further
// batch is whole, or begins when the one before it has ended.
func TestNotifyChannelFillsItsBatches(t *testing.T) {
	t.Parallel()

	env := newLaneEnv(t)
	start, began := env.Now(), []time.Duration{}
	env.batches.end = func(ctx workflow.Context, in workflows.BatchInput) error {
		began = append(began, workflow.Now(ctx).Sub(start))
		return workflow.Sleep(ctx, 5*time.Second)
	}
	env.answersLooks(partial(1), partial(2), partial(2), partial(2), partial(2), partial(2), partial(2), bulk(3), partial(4), partial(4), partial(4), partial(4))
	env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(activities.NextResult{}, nil).Maybe()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 6*time.Second)

	env.ExecuteWorkflow(workflows.NotifyChannel, bulkInput())

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{0, 5, 5, 6}, seconds(began))
}

// A long lane goes on in a new run with its decision.
func TestNotifyChannelKeepsItsDecision(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), bulkInput()
	in.Planned = true
	env.SetContinueAsNewSuggested(true)
	env.SetCurrentHistoryLength(9_001)
	env.answersLooks(bulk(1))

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	in.After, in.Parts = 100, 1
	require.Equal(t, in, nextRun[workflows.ChannelInput](t, env, notifyChannel))
}

func TestNotifyChannelInBatchesCancelled(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), bulkInput()
	in.Planned = true
	env.batches.end = takes[workflows.BatchInput](time.Hour)
	env.answersLooks(bulk(1), bulk(2), activities.NextResult{})
	env.cancelsUnsent(wholeLane(mails))
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	env.requireStopped(t)
	require.Equal(t, 2, env.batches.cancelled)
}
