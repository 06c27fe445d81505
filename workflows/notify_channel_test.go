package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

func newLaneEnv(t *testing.T) *environment {
	t.Helper()
	return newEnv(t, notifyPage, deliverBatch)
}

// looks is a look behind a row, whatever the lane knows of its planning and of its size.
func looks(lane notification.Lane, after int64, left bool) any {
	return mock.MatchedBy(func(in activities.NextInput) bool {
		return in.EventID == eventID && in.Lane == lane && in.After == after && in.Left == left
	})
}

// finds expects that the lane looks behind a row, and finds a stretch.
func (e *environment) finds(lane notification.Lane, after int64, left bool, found notification.IDRange) {
	e.OnActivity(acts.NextDeliveries, mock.Anything, looks(lane, after, left)).Return(activities.NextResult{IDRange: found}, nil).Once()
}

// findsPages expects that a lane finds n pages, then nothing, and nothing left.
func (e *environment) findsPages(lane notification.Lane, n int) {
	for page := 1; page <= n; page++ {
		e.finds(lane, int64((page-1)*100), false, stored(page))
	}
	e.finds(lane, int64(n*100), false, notification.IDRange{})
	e.finds(lane, 0, true, notification.IDRange{})
}

func pageOf(lane notification.Lane, n int) workflows.PageInput {
	in := pageInput(n)
	in.Channel, in.Waiting = lane.Channel, lane.Waiting
	return in
}

// A lane hands on its rows in pages, a few at a time; those that wait, many.
func TestNotifyChannel(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		lane notification.Lane
		id   string
		open int
	}{
		{lane: mails, id: "evt-1-page-EMAIL-%d", open: 4},
		{lane: laterSMS, id: "evt-1-page-SMS-%d-waiting", open: 12},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()

			env, in := newLaneEnv(t), laneInput(tt.lane)
			in.Planned = true
			env.pages.end = takes[workflows.PageInput](time.Hour)
			env.findsPages(tt.lane, 12)
			var want []workflows.PageInput
			var ids []string
			for n := 1; n <= 12; n++ {
				want, ids = append(want, pageOf(tt.lane, n)), append(ids, fmt.Sprintf(tt.id, n))
			}

			env.ExecuteWorkflow(workflows.NotifyChannel, in)

			require.NoError(t, env.GetWorkflowError())
			require.ElementsMatch(t, want, env.pages.started)
			require.ElementsMatch(t, ids, env.pages.ids)
			require.Equal(t, tt.open, env.pages.mostOpen)
		})
	}
}

// While the event plans, a lane that has nothing to do looks again, ever more
// seldom; the word that all is planned wakes it.
func TestNotifyChannelFollowsThePlanning(t *testing.T) {
	t.Parallel()

	env := newLaneEnv(t)
	var looked []time.Duration
	start := env.Now()
	nothing := func(after int64) {
		env.OnActivity(acts.NextDeliveries, mock.Anything, looks(mails, after, false)).Return(activities.NextResult{}, nil).Once().Run(func(mock.Arguments) {
			looked = append(looked, env.Now().Sub(start))
		})
	}
	for range 6 {
		nothing(0)
	}
	env.finds(mails, 0, false, stored(1))
	for range 3 {
		nothing(100)
	}
	env.finds(mails, 100, false, stored(2))
	nothing(200)
	env.finds(mails, 0, true, notification.IDRange{})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 40*time.Second)

	env.ExecuteWorkflow(workflows.NotifyChannel, laneInput(mails))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.pages.started, 2)
	seconds := []int{0, 1, 3, 7, 15, 25, 35, 36, 38, 40}
	for i, at := range seconds {
		require.Equal(t, time.Duration(at)*time.Second, looked[i].Round(time.Second))
	}
}

// Rows that were stored late, behind the last that was read, are found at the end.
func TestNotifyChannelFindsWhatWasLeft(t *testing.T) {
	t.Parallel()

	env, in := newLaneEnv(t), laneInput(mails)
	in.Planned = true
	env.finds(mails, 0, false, stored(2))
	env.finds(mails, 200, false, notification.IDRange{})
	env.finds(mails, 0, true, stored(1))
	env.finds(mails, 100, true, notification.IDRange{})

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	left := pageOf(mails, 1)
	left.Left = true
	require.Equal(t, []workflows.PageInput{pageOf(mails, 2), left}, env.pages.started)
	require.Equal(t, []string{"evt-1-page-EMAIL-1", "evt-1-page-EMAIL-2"}, env.pages.ids)
}

// A lane that is long goes on in a new run, once its pages have ended; one that
// waits only when it must.
func TestNotifyChannelContinuesAsNew(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		lane    notification.Lane
		history int
		planned bool
		pages   int
	}{
		{name: "sending", lane: mails, history: 5_000, pages: 1},
		{name: "all planned", lane: mails, history: 5_000, planned: true, pages: 1},
		{name: "waiting", lane: laterSMS, history: 9_000, planned: true},
		{name: "waiting, and very long", lane: laterSMS, history: 9_001, planned: true, pages: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, in := newLaneEnv(t), laneInput(tt.lane)
			env.SetContinueAsNewSuggested(true)
			env.SetCurrentHistoryLength(tt.history)
			env.pages.end = takes[workflows.PageInput](time.Hour)
			in.Planned = tt.planned
			if tt.pages == 0 {
				env.finds(tt.lane, 0, false, stored(1))
				env.finds(tt.lane, 100, false, stored(2))
				env.finds(tt.lane, 200, false, notification.IDRange{})
				env.finds(tt.lane, 0, true, notification.IDRange{})
			} else {
				env.finds(tt.lane, 0, false, stored(1))
			}

			env.ExecuteWorkflow(workflows.NotifyChannel, in)

			require.Zero(t, env.pages.open)
			if tt.pages == 0 {
				require.NoError(t, env.GetWorkflowError())
				return
			}
			in.After, in.Pages = 100, 1
			require.Equal(t, in, nextRun[workflows.ChannelInput](t, env, notifyChannel))
		})
	}
}

func TestNotifyChannelCancelled(t *testing.T) {
	t.Parallel()

	env := newLaneEnv(t)
	env.pages.end = takes[workflows.PageInput](time.Hour)
	for n := 1; n <= 5; n++ { // the fifth waits for a slot
		env.finds(mails, int64((n-1)*100), false, stored(n))
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.NotifyChannel, laneInput(mails))

	env.requireStopped(t)
	require.Len(t, env.pages.started, 4)
	require.Equal(t, 4, env.pages.cancelled)
}
