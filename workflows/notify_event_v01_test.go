package workflows_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// pageV01 is the plan of the n-th of last pages, which count from 1: all of it is
// to be sent at once.
func pageV01(n, last int) activities.PlanResult {
	planned := activities.PlanResult{Stored: stored(n), Immediate: 100}
	if n < last {
		next := cursor(n)
		planned.Next = &next
	}
	return planned
}

func pageInputV01(n int) workflows.PageInput {
	return workflows.PageInput{EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate, IDs: stored(n)}
}

// Each page is planned from where the last one ended, max_recipients and all,
// and is delivered by one workflow.
func TestNotifyEventV01DeliversPages(t *testing.T) {
	t.Parallel()

	for _, last := range []int{2, 3, 4, 5, 11} {
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			t.Parallel()

			env := newEventEnv(t)
			env.pages.end = takes[workflows.PageInput](time.Minute)
			var want []workflows.PageInput
			var ids []string
			for n := 1; n <= last; n++ {
				env.plansV01(cursor(n-1), pageV01(n, last))
				want, ids = append(want, pageInputV01(n)), append(ids, fmt.Sprintf("evt-1-page-%d", n))
			}
			env.finishes("")

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			env.requireNotified(t, workflows.NotifyResult{})
			require.ElementsMatch(t, want, env.pages.started)
			require.ElementsMatch(t, ids, env.pages.ids)
			require.Equal(t, min(last, 4), env.pages.mostOpen)
			require.Empty(t, env.deliveries.started)
		})
	}
}

// A page of recipients that nothing was selected for is passed over.
func TestNotifyEventV01PassesOverAnEmptyPage(t *testing.T) {
	t.Parallel()

	for _, empty := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(empty), func(t *testing.T) {
			t.Parallel()

			env := newEventEnv(t)
			var want []workflows.PageInput
			for n := 1; n <= 3; n++ {
				planned := pageV01(n, 3)
				if n == empty {
					planned.Stored, planned.Immediate = notification.IDRange{}, 0
				} else {
					want = append(want, pageInputV01(n))
				}
				env.plansV01(cursor(n-1), planned)
			}
			env.finishes("")

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

			env.requireNotified(t, workflows.NotifyResult{})
			require.ElementsMatch(t, want, env.pages.started)
		})
	}
}

func TestNotifyEventV01WithAPageThatFails(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.pages.end = func(ctx workflow.Context, in workflows.PageInput) error {
		if in.IDs == stored(1) {
			return errors.New("no such page")
		}
		return workflow.Sleep(ctx, time.Minute)
	}
	env.plansV01(cursor(0), pageV01(1, 2))
	env.plansV01(cursor(1), pageV01(2, 2))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInputV01)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Len(t, env.pages.started, 2)
}

// A long broadcast goes on in a new run, once the pages of this one have ended;
// event and history are only ended by the last run.
func TestNotifyEventV01ContinuesAsNew(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name      string
		in        workflows.NotifyInput
		from      int           // the page behind which it begins
		publishes time.Duration // how long publishing takes; 0: it is not called
		want      workflows.NotifyInput
	}{
		{name: "nothing to publish", in: workflows.NotifyInput{EventID: eventID}, want: workflows.NotifyInput{EventID: eventID, Published: true}},
		{name: "published", in: workflows.NotifyInput{EventID: eventID, Publish: true}, publishes: time.Second, want: workflows.NotifyInput{EventID: eventID, Publish: true, Published: true}},
		{name: "not published yet", in: workflows.NotifyInput{EventID: eventID, Publish: true}, publishes: time.Hour, want: workflows.NotifyInput{EventID: eventID, Publish: true}},
		{name: "for the third time", in: workflows.NotifyInput{EventID: eventID, Publish: true, Published: true, Pages: 7}, from: 7, want: workflows.NotifyInput{EventID: eventID, Publish: true, Published: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, end := newEventEnv(t), cursor(tt.from+1)
			if tt.from > 0 {
				after := cursor(tt.from)
				tt.in.After = &after
			}
			env.SetContinueAsNewSuggested(true)
			env.pages.end = takes[workflows.PageInput](time.Minute)
			env.plansV01(cursor(tt.from), pageV01(tt.from+1, 100))
			env.publishesAfter(tt.publishes)

			env.ExecuteWorkflow(workflows.NotifyEvent, tt.in)

			tt.want.After, tt.want.Pages = &end, tt.from+1
			require.Equal(t, tt.want, nextRun[workflows.NotifyInput](t, env, notifyEvent))
			require.Equal(t, []string{fmt.Sprintf("evt-1-page-%d", tt.from+1)}, env.pages.ids)
			require.Zero(t, env.pages.open)
			env.requireOutcome(t, "")
		})
	}
}

// The last page needs no further run, however long the history is.
func TestNotifyEventV01EndsWhereItWouldContinue(t *testing.T) {
	t.Parallel()

	env, after := newEventEnv(t), cursor(41)
	env.SetContinueAsNewSuggested(true)
	env.plansV01(after, pageV01(42, 42))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, workflows.NotifyInput{EventID: eventID, After: &after, Pages: 41})

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, []string{"evt-1-page-42"}, env.pages.ids)
}

var notifyInputV01 = workflows.NotifyInput{EventID: eventID}

// plansV01 expects the planning of the page behind after.
func (e *environment) plansV01(after notification.Cursor, planned activities.PlanResult) {
	e.plansAfterV01(0, after, planned)
}

// plansAfterV01 expects the same, and that it takes d.
func (e *environment) plansAfterV01(d time.Duration, after notification.Cursor, planned activities.PlanResult) {
	e.plansIn(d, activities.PlanInput{EventID: eventID, After: after}, planned)
}
