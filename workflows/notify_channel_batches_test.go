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

// bulk is a stretch of a lane that goes in batches.
func bulk(n int) activities.NextResult {
	mail := policy(notification.Email)
	return activities.NextResult{IDRange: stored(n), Size: activities.LaneBulk, Policy: &mail, Priority: notification.Low}
}

// batchInput is the n-th batch of the lane.
func batchInput(n int) workflows.BatchInput {
	return workflows.BatchInput{
		EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate, Channel: notification.Email,
		IDs: stored(n), Number: n, Priority: notification.Low, Policy: policy(notification.Email),
	}
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

// A lane that is large goes in batches, which can be found, and asks for its size once.
func TestNotifyChannelInBatches(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Planned = true
	repeated := bulk(2)
	repeated.Failed = true
	nothing := activities.NextResult{Size: activities.LaneBulk}
	asked, _ := env.answersLooks(bulk(1), repeated, nothing, nothing)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	second := batchInput(2)
	second.Failed = true
	require.Equal(t, []workflows.BatchInput{batchInput(1), second}, env.batches.started)
	require.Equal(t, []string{"evt-1-batch-EMAIL-1", "evt-1-batch-EMAIL-2"}, env.batches.ids)
	require.Equal(t, workflows.BatchID(eventID, notification.Email, 1), env.batches.ids[0])
	require.Equal(t, map[string]string{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldChannel": "EMAIL"}, env.batches.found[0])
	require.Empty(t, env.pages.started)
	require.Equal(t, activities.NextInput{EventID: eventID, Lane: mails, Planned: true, Fewer: true}, (*asked)[0])
	for _, later := range (*asked)[1:] {
		require.Equal(t, activities.LaneBulk, later.Size)
	}
}

// Many batches are open at once, since what failed for now keeps one open until its next
// attempt.
func TestNotifyChannelOpensManyBatches(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Planned = true
	env.batches.end = takes[workflows.BatchInput](time.Minute)
	var answers []activities.NextResult
	for n := 1; n <= 120; n++ {
		answers = append(answers, bulk(n))
	}
	env.answersLooks(append(answers, activities.NextResult{Size: activities.LaneBulk}, activities.NextResult{Size: activities.LaneBulk})...)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.batches.started, 120)
	require.Equal(t, 100, env.batches.mostOpen)
}

// While it is not known whether a lane is large, it waits: for the word that all is planned,
// or for three seconds.
func TestNotifyChannelLearnsItsSize(t *testing.T) {
	t.Parallel()

	open := activities.NextResult{IDRange: stored(1), Size: activities.LaneOpen}
	small := activities.NextResult{IDRange: stored(1), Size: activities.LaneSmall}
	none := activities.NextResult{Size: activities.LaneSmall}
	tests := []struct {
		name    string
		planned time.Duration // when the lane hears that all is
		answers []activities.NextResult
		want    time.Duration // when its first part begins
		batches int
	}{
		{name: "it turns out to be small", planned: 700 * time.Millisecond, answers: []activities.NextResult{open, open, small, none, none}, want: 700 * time.Millisecond},
		{name: "it turns out to be large", planned: time.Minute, answers: []activities.NextResult{open, open, bulk(1), {Size: activities.LaneBulk}}, want: time.Second, batches: 1},
		{name: "its planning takes long", planned: time.Minute, answers: []activities.NextResult{open, open, open, open, open, open, open, {Size: activities.LaneOpen}}, want: 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newLaneEnv(t)
			start, began := env.Now(), time.Duration(-1)
			note := func() {
				if began < 0 {
					began = env.Now().Sub(start)
				}
			}
			env.pages.end = func(workflow.Context, workflows.PageInput) error { note(); return nil }
			env.batches.end = func(workflow.Context, workflows.BatchInput) error { note(); return nil }
			env.answersLooks(tt.answers...)
			env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(activities.NextResult{Size: activities.LaneSmall}, nil).Maybe()
			env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, tt.planned)

			env.ExecuteWorkflow(workflows.NotifyChannel, laneInput(mails))

			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tt.want, began.Round(100*time.Millisecond))
			require.Len(t, env.batches.started, tt.batches)
			require.Len(t, env.pages.started, 1-tt.batches)
		})
	}
}

// A lane in batches takes less than a whole one only when it has waited for more in vain.
func TestNotifyChannelFillsItsBatches(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Size = activities.LaneBulk
	in.After, in.Pages = 100, 1
	none := activities.NextResult{Size: activities.LaneBulk}
	asked, at := env.answersLooks(bulk(2), none, none, none, bulk(3))
	env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(none, nil).Maybe()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 5*time.Second)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	var fewer []bool
	for _, look := range *asked {
		fewer = append(fewer, look.Fewer)
	}
	require.Equal(t, []bool{false, false, false, false, true}, fewer)
	require.Equal(t, []time.Duration{0, 0, 250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond}, *at)
}

// A long lane goes on in a new run with what it has learned.
func TestNotifyChannelKeepsItsSize(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Planned = true
	env.SetContinueAsNewSuggested(true)
	env.SetCurrentHistoryLength(9_001)
	env.answersLooks(bulk(1))

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	in.After, in.Pages, in.Size = 100, 1, activities.LaneBulk
	require.Equal(t, in, nextRun[workflows.ChannelInput](t, env, notifyChannel))
}

func TestNotifyChannelInBatchesCancelled(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Planned = true
	env.batches.end = takes[workflows.BatchInput](time.Hour)
	env.answersLooks(bulk(1), bulk(2), activities.NextResult{Size: activities.LaneBulk})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	env.requireStopped(t)
	require.Equal(t, 2, env.batches.cancelled)
}
