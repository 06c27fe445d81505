package workflows_test

import (
	"fmt"
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

// looks returns the input of NextDeliveries for rows after an id, when all recipients are planned.
func looks(lane notification.Lane, after int64) activities.NextInput {
	return activities.NextInput{EventID: eventID, Lane: lane, After: after}
}

// looksEarly returns the input of NextDeliveries while the event may plan more deliveries.
func looksEarly(lane notification.Lane, after int64) activities.NextInput {
	in := looks(lane, after)
	in.Planning = true
	return in
}

// finds expects that the lane reads rows after an id, and answers with a stretch.
func (e *environment) finds(lane notification.Lane, after int64, found notification.IDRange) {
	e.OnActivity(acts.NextDeliveries, mock.Anything, looks(lane, after)).Return(activities.NextResult{IDRange: found}, nil).Once()
}

// findsStretches expects that a lane finds n stretches, then no rows.
func (e *environment) findsStretches(lane notification.Lane, n int) {
	for i := range n {
		e.finds(lane, int64(i*100), stored(i+1))
	}
	e.finds(lane, int64(n*100), notification.IDRange{})
}

// wholeLane returns all deliveries of a lane, as a part.
func wholeLane(lane notification.Lane) notification.Part {
	return notification.Part{EventID: eventID, Lane: lane}
}

// A lane starts pages, and has at most four open that send. A page whose deliveries only wait makes room
// for the next one.
func TestNotifyChannelStartsPages(t *testing.T) {
	t.Parallel()

	for wait, want := range map[bool]int{false: 4, true: 9} {
		env, in := newEnv(t), laneInput(mails)
		in.Planned = true
		env.pages.end = func(ctx workflow.Context, _ workflows.PageInput) error {
			if wait {
				tellWaiting(ctx)
			}
			return workflow.Sleep(ctx, time.Hour)
		}
		env.findsStretches(mails, 9)

		env.ExecuteWorkflow(workflows.NotifyChannel, in)

		require.NoError(t, env.GetWorkflowError())
		require.Len(t, env.pages.started, 9)
		require.Equal(t, want, env.pages.mostOpen)
		require.Empty(t, env.deliveries.started)
	}
}

// tellWaiting tells a child's parent that the child only waits.
func tellWaiting(ctx workflow.Context) {
	info := workflow.GetInfo(ctx)
	_ = workflow.SignalExternalWorkflow(ctx, info.ParentWorkflowExecution.ID, "", "waiting", info.WorkflowExecution.ID).Get(ctx, nil)
}

// A lane of deliveries that wait starts pages, which operators can find.
func TestNotifyChannelThatWaits(t *testing.T) {
	t.Parallel()

	env, in := newEnv(t), laneInput(laterSMS)
	in.Planned = true
	env.pages.end = takes[workflows.PageInput](time.Hour)
	env.findsStretches(laterSMS, 12)
	var want []workflows.PageInput
	var ids []string
	for n := 1; n <= 12; n++ {
		page := pageInput(n)
		page.Lane = laterSMS
		want, ids = append(want, page), append(ids, fmt.Sprintf("evt-1-page-SMS-%d-waiting", n))
	}

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, want, env.pages.started)
	require.ElementsMatch(t, ids, env.pages.ids)
	require.Equal(t, 12, env.pages.mostOpen)
	require.Equal(t, map[string]string{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldChannel": "SMS"},
		env.pages.found[0])
}

// While the event plans, an idle lane polls at growing intervals. The signal that all recipients
// are planned wakes it.
func TestIdleLanePollsWhileTheEventPlans(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	var looked []time.Duration
	start := env.Now()
	answer := func(in activities.NextInput, found notification.IDRange) {
		env.OnActivity(acts.NextDeliveries, mock.Anything, in).Return(activities.NextResult{IDRange: found}, nil).Once().Run(func(
			mock.Arguments,
		) {
			looked = append(looked, env.Now().Sub(start))
		})
	}
	for range 6 {
		answer(looksEarly(mails, 0), notification.IDRange{})
	}
	answer(looksEarly(mails, 0), stored(1))
	for range 3 {
		answer(looksEarly(mails, 100), notification.IDRange{})
	}
	answer(looks(mails, 100), stored(2))
	answer(looks(mails, 200), notification.IDRange{})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 40*time.Second)

	env.ExecuteWorkflow(workflows.NotifyChannel, laneInput(mails))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.pages.started, 2)
	require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 25}, seconds(looked[:6]))
}

// A lane whose event does not have it any more sends what is planned, and ends without the signal.
func TestOrphanedLane(t *testing.T) {
	t.Parallel()

	for _, in := range []workflows.ChannelInput{laneInput(mails), laneInput(laterSMS), bulkInput()} {
		env := newEnv(t)
		asked, _ := env.answersLooks(bulk(1), activities.NextResult{}, bulk(2), activities.NextResult{Orphaned: true})

		env.ExecuteWorkflow(workflows.NotifyChannel, in)

		require.NoError(t, env.GetWorkflowError())
		require.Len(t, append(env.pages.ids, env.batches.ids...), 2)
		require.True(t, (*asked)[3].Planning)
	}
}

// seconds returns the times in whole seconds.
func seconds(all []time.Duration) (rounded []time.Duration) {
	for _, d := range all {
		rounded = append(rounded, d.Round(time.Second)/time.Second)
	}
	return rounded
}

// A page, batch or lane that somebody terminates sends nothing more: its parent cancels the deliveries that
// it had not sent. The other parts continue.
func TestPartTerminated(t *testing.T) {
	t.Parallel()

	ended := func(ctx workflow.Context, first bool) error {
		if first {
			return &temporal.TerminatedError{}
		}
		return nil
	}
	planned, batches := laneInput(mails), bulkInput()
	planned.Planned, batches.Planned = true, true
	for name, tt := range map[string]struct {
		workflow, in any
		part         notification.Part
		arrange      func(env *environment)
	}{
		"a page": {workflows.NotifyChannel, planned, partOf(mails, 1), func(env *environment) {
			env.findsStretches(mails, 2)
			env.pages.end = func(ctx workflow.Context, in workflows.PageInput) error { return ended(ctx, in.IDs == stored(1)) }
		}},
		"a batch": {workflows.NotifyChannel, batches, partOf(mails, 1), func(env *environment) {
			env.answersLooks(bulk(1), bulk(2), activities.NextResult{})
			env.batches.end = func(ctx workflow.Context, in workflows.BatchInput) error { return ended(ctx, in.Number == 1) }
		}},
		"a page of a batch": {workflows.DeliverBatch, batchInput(1), partOf(mails, 1), func(env *environment) {
			env.sendsBatch(activities.SendBatchResult{HasRemaining: true})
			env.claims()
			env.findsLeft(0, stored(1))
			env.findsLeft(100, notification.IDRange{})
			env.pages.end = func(ctx workflow.Context, in workflows.PageInput) error { return ended(ctx, true) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			tt.arrange(env)
			in := activities.CancelPartInput{Part: tt.part, Reason: notification.TerminatedInTemporal}
			env.OnActivity(acts.CancelPart, mock.Anything, in).Return(activities.CancelPartResult{}, nil).Once()

			env.ExecuteWorkflow(tt.workflow, tt.in)

			require.NoError(t, env.GetWorkflowError())
		})
	}
}

// A lane with a long history continues in a new run once no children run. While children run, it
// waits for them only if its history is very long.
func TestNotifyChannelContinuesAsNew(t *testing.T) {
	t.Parallel()

	for _, lane := range []workflows.ChannelInput{laneInput(mails), laneInput(laterSMS), bulkInput()} {
		for history, continues := range map[int]bool{9_000: false, 9_001: true} {
			for _, planned := range []bool{false, true} {
				t.Run(fmt.Sprint(lane, history, planned), func(t *testing.T) {
					t.Parallel()

					env, in := newEnv(t), lane
					env.SetContinueAsNewSuggested(true)
					env.SetCurrentHistoryLength(history)
					env.pages.end = takes[workflows.PageInput](time.Hour)
					env.batches.end = takes[workflows.BatchInput](time.Hour)
					in.Planned = planned
					env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 500*time.Millisecond)
					env.answersLooks(bulk(1))
					if !continues {
						env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(activities.NextResult{}, nil)
					}

					env.ExecuteWorkflow(workflows.NotifyChannel, in)

					require.Zero(t, env.pages.open+env.batches.open)
					if !continues {
						require.NoError(t, env.GetWorkflowError())
						return
					}
					in.After, in.Planned, in.Parts = 100, true, len(env.pages.started)+len(env.batches.started)
					require.Equal(t, in, nextRun[workflows.ChannelInput](t, env, notifyChannel))
				})
			}
		}
	}
}

// A cancelled lane, page or batch ends its children, and cancels the rows without a child, even if
// a lane still waits for the planning, or a batch is being sent.
func TestPartCancelled(t *testing.T) {
	t.Parallel()

	planned, batches := laneInput(mails), bulkInput()
	planned.Planned, batches.Planned = true, true
	tests := []struct {
		name                       string
		workflow, in               any
		part                       notification.Part
		arrange                    func(env *environment)
		deliveries, pages, batches int // children that had begun
	}{
		{name: "pages", workflow: workflows.NotifyChannel, in: planned, part: wholeLane(mails),
			arrange: func(env *environment) { env.findsStretches(mails, 2) }, pages: 2},
		{name: "batches", workflow: workflows.NotifyChannel, in: batches, part: wholeLane(mails),
			arrange: func(env *environment) { env.answersLooks(bulk(1), bulk(2), activities.NextResult{}) }, batches: 2},
		{name: "waiting for the planning", workflow: workflows.NotifyChannel, in: laneInput(laterSMS),
			part: wholeLane(laterSMS), arrange: func(env *environment) {
				env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(activities.NextResult{}, nil)
			}},
		{name: "a page", workflow: workflows.NotifyPage, in: pageInput(3), part: partOf(laterMails, 3), arrange: func(env *environment) {
			env.lists(batch(150), nil)
		}, deliveries: 100},
		{name: "deliveries that have left a batch", workflow: workflows.DeliverBatch, in: batchInput(1),
			part: partOf(mails, 1), arrange: func(env *environment) {
				env.sendsBatch(activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 98}, HasRemaining: true})
				env.claims()
				env.findsLeft(0, stored(1))
				env.findsLeft(100, notification.IDRange{})
			}, pages: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.deliveries.end, env.pages.end, env.batches.end = takes[workflows.DeliverInput](time.Hour), takes[workflows.PageInput](time.Hour),
				takes[workflows.BatchInput](time.Hour)
			tt.arrange(env)
			env.cancelsUnsent(tt.part)
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

			env.ExecuteWorkflow(tt.workflow, tt.in)

			env.requireStopped(t)
			require.Len(t, env.deliveries.started, tt.deliveries)
			require.Equal(t, tt.deliveries, env.deliveries.cancelled)
			require.Equal(t, tt.pages, env.pages.cancelled)
			require.Equal(t, tt.batches, env.batches.cancelled)
		})
	}
}

// bulk returns a stretch of a bulk lane.
func bulk(n int) activities.NextResult {
	mail := policy(notification.Email)
	return activities.NextResult{IDRange: stored(n), Policy: &mail, Priority: notification.Low}
}

// batchInput returns the input of the lane's n-th batch.
func batchInput(n int) workflows.BatchInput {
	return workflows.BatchInput{
		EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate, Channel: notification.Email,
		IDs: stored(n), Number: n, Priority: notification.Low, Policy: policy(notification.Email),
	}
}

// bulkInput returns the input of a lane whose deliveries go in batches.
func bulkInput() workflows.ChannelInput {
	in := laneInput(mails)
	in.Bulk = true
	return in
}

// partial returns a stretch that is smaller than a batch.
func partial(n int) activities.NextResult {
	found := bulk(n)
	found.Partial = true
	return found
}

// answersLooks answers a lane's calls of NextDeliveries in turn, and keeps their inputs and times.
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

// The lane of a bulk event starts batches, which operators can find. Many are open concurrently: a
// delivery that failed temporarily keeps its batch open until the next attempt.
func TestNotifyChannelInBatches(t *testing.T) {
	t.Parallel()

	env, in := newEnv(t), bulkInput()
	in.Planned = true
	env.batches.end = takes[workflows.BatchInput](time.Minute)
	var answers []activities.NextResult
	var want []workflows.BatchInput
	for n := 1; n <= 120; n++ {
		answers, want = append(answers, bulk(n)), append(want, batchInput(n))
	}
	answers[119].Partial = true
	asked, _ := env.answersLooks(append(answers, activities.NextResult{})...)

	env.ExecuteWorkflow(workflows.NotifyChannel, in)

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, want, env.batches.started)
	require.Equal(t, 100, env.batches.mostOpen)
	require.Subset(t, env.batches.ids, []string{"evt-1-batch-EMAIL-1", "evt-1-batch-EMAIL-2"})
	require.Contains(t, env.batches.ids, workflows.BatchID(eventID, notification.Email, 1))
	require.Equal(t,
		map[string]string{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldChannel": "EMAIL"},
		env.batches.found[0])
	require.Equal(t, activities.NextInput{EventID: eventID, Lane: mails, Bulk: true}, (*asked)[0])
	require.Empty(t, env.pages.started)
	require.Empty(t, env.deliveries.started)
}

// While the event plans, a lane sends the first rows at once. A later batch is full, or begins
// after the batch before it has ended.
func TestNotifyChannelFillsItsBatches(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start, began := env.Now(), []time.Duration{}
	env.batches.end = func(ctx workflow.Context, in workflows.BatchInput) error {
		began = append(began, workflow.Now(ctx).Sub(start))
		return workflow.Sleep(ctx, 5*time.Second)
	}
	env.answersLooks(partial(1), partial(2), partial(2), partial(2), partial(2), partial(2), partial(2), bulk(3), partial(4), partial(4),
		partial(4), partial(4))
	env.OnActivity(acts.NextDeliveries, mock.Anything, mock.Anything).Return(activities.NextResult{}, nil).Maybe()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("all-planned", nil) }, 6*time.Second)

	env.ExecuteWorkflow(workflows.NotifyChannel, bulkInput())

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{0, 5, 5, 6}, seconds(began))
}
