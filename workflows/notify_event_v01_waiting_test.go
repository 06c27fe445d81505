package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/workflows"
)

// A page has one workflow for what is sent at once, one for what waits, and
// neither where it would have nothing to do.
func TestNotifyEventV01SplitsPages(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name               string
		immediate, waiting int
		want               []string
	}{
		{name: "sent at once", immediate: 2, want: []string{"evt-1-page-1"}},
		{name: "waiting", waiting: 2, want: []string{"evt-1-page-1-waiting"}},
		{name: "both", immediate: 1, waiting: 1, want: []string{"evt-1-page-1", "evt-1-page-1-waiting"}},
		{name: "nothing selected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, first := newEventEnv(t), pageV01(1, 2)
			first.Immediate, first.Waiting = tt.immediate, tt.waiting
			env.plansV01(cursor(0), first)
			env.plansV01(cursor(1), activities.PlanResult{})
			env.finishes("")

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			env.requireNotified(t, workflows.NotifyResult{})
			require.Equal(t, tt.want, sorted(env.pages.ids))
			for i, in := range env.pages.started {
				want := pageInputV01(1)
				want.Waiting = env.pages.ids[i] == "evt-1-page-1-waiting"
				require.Equal(t, want, in)
			}
			require.Empty(t, env.deliveries.started)
		})
	}
}

// Pages that wait hold up no later page, until there are very many of them; and
// then, what can be sent of the last page that was planned is sent.
func TestNotifyEventV01SendsPagesBesideWhatWaits(t *testing.T) {
	t.Parallel()

	const night = 24 * time.Hour
	for last, want := range map[int]int{6: 6, 403: 401} { // how many are sent before the first that waits is through
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			t.Parallel()

			env, waits, mostWait, sent := newEventEnv(t), 0, 0, 0
			start := env.Now()
			env.pages.end = func(ctx workflow.Context, in workflows.PageInput) error {
				if in.Waiting {
					waits++
					mostWait = max(mostWait, waits)
					defer func() { waits-- }()
					return workflow.Sleep(ctx, night)
				}
				if err := workflow.Sleep(ctx, time.Second); workflow.Now(ctx).Sub(start) >= night {
					return err
				}
				sent++
				return nil
			}
			env.plansPartlyWaiting(last)
			env.finishes("")

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			env.requireNotified(t, workflows.NotifyResult{})
			require.Equal(t, want, sent)
			require.Equal(t, min(last, 400), mostWait)
			require.Len(t, env.pages.started, 2*last)
		})
	}
}

func TestNotifyEventV01CancelledWithOpenPages(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name               string
		immediate, waiting int
		planned, open      int
	}{
		{name: "sending", immediate: 100, planned: 5, open: 4}, // the fifth waits for a slot
		{name: "waiting", waiting: 40, planned: 6, open: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEventEnv(t)
			env.pages.end = takes[workflows.PageInput](10 * time.Hour)
			for n := 1; n <= tt.planned; n++ {
				planned := pageV01(n, 6)
				planned.Immediate, planned.Waiting = tt.immediate, tt.waiting
				env.plansV01(cursor(n-1), planned)
			}
			env.finishes("CANCELLED")
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			env.requireCancelled(t)
			require.Len(t, env.pages.started, tt.open)
			require.Equal(t, tt.open, env.pages.cancelled)
		})
	}
}

// Children do not survive continue-as-new, so an event goes on in the same run
// while pages wait, as long as its history can bear it.
func TestNotifyEventV01ContinuesAsNewWithWaitingPages(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		waits   time.Duration // each waiting page; the pages are planned a minute apart
		history int
		pages   int // behind which it continues; 0: it does not
	}{
		{name: "while they wait", waits: time.Hour, history: 9_000},
		{name: "when they are through", waits: 90 * time.Second, history: 9_000, pages: 3},
		{name: "when the history is long", waits: time.Hour, history: 9_001, pages: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEventEnv(t)
			env.SetContinueAsNewSuggested(true)
			env.SetCurrentHistoryLength(tt.history)
			env.pages.end = takes[workflows.PageInput](tt.waits)
			last := 4
			for n := 1; n <= last && (tt.pages == 0 || n <= tt.pages); n++ {
				planned := pageV01(n, last)
				if planned.Immediate = 0; n == 1 {
					planned.Waiting = 3
				}
				env.plansAfterV01(time.Minute, cursor(n-1), planned)
			}
			if tt.pages == 0 {
				env.finishes("")
			}

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			if tt.pages == 0 {
				env.requireNotified(t, workflows.NotifyResult{})
			} else {
				end := cursor(tt.pages)
				require.Equal(t, workflows.NotifyInput{EventID: eventID, After: &end, Pages: tt.pages, Published: true}, nextRun[workflows.NotifyInput](t, env, notifyEvent))
			}
			require.Equal(t, []string{"evt-1-page-1-waiting"}, env.pages.ids)
			require.Zero(t, env.pages.open)
			require.Zero(t, env.pages.cancelled)
		})
	}
}

// An event that runs again has the same pages again, and reads what is left of
// them to do.
func TestNotifyEventV01RepeatsItsPages(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	for range 2 {
		env.plansV01(cursor(0), partlyWaiting(1, 2))
		env.plansV01(cursor(1), activities.PlanResult{})
		env.finishes("")
	}

	env.ExecuteWorkflow(func(ctx workflow.Context) (workflows.NotifyResult, error) {
		if result, err := workflows.NotifyEvent(ctx, notifyInputV01); err != nil {
			return result, err
		}
		return workflows.NotifyEvent(ctx, notifyInputV01)
	})

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, []string{"evt-1-page-1", "evt-1-page-1", "evt-1-page-1-waiting", "evt-1-page-1-waiting"}, sorted(env.pages.ids))
}

// plansPartlyWaiting expects the planning of many pages, on each of which is
// something that waits.
func (e *environment) plansPartlyWaiting(last int) {
	e.OnActivity(acts.PlanDeliveries, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PlanInput) (activities.PlanResult, error) {
		return partlyWaiting(int(in.After.Number/100)+1, last), nil
	})
}

// partlyWaiting is the plan of the n-th of last pages, a part of which waits.
func partlyWaiting(n, last int) activities.PlanResult {
	planned := pageV01(n, last)
	planned.Immediate, planned.Waiting = 60, 40
	return planned
}
