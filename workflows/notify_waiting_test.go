package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// What waits takes no place from what is sent, though it comes first and is
// more than there are places.
func TestNotifyEventDeliversBesideWhatWaits(t *testing.T) {
	t.Parallel()

	env, all := newEventEnv(t), batch(260)
	waiting(activities.DeliveryBatch{Deliveries: all.Deliveries[:130]})
	var sent []time.Duration
	start := env.Now()
	env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
		if !in.SendAfter.IsZero() {
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
	require.Equal(t, 130+100, env.deliveries.mostOpen) // all that wait, and a window of the others
	require.Len(t, sent, 130)
	require.Equal(t, 2*time.Second, sent[129]) // of the skipped clock: 100, then 30
}

// The items of digests wait as well, for a time that only their digests know.
func TestNotifyPageWithDigests(t *testing.T) {
	t.Parallel()

	env, all := newPageEnv(t), batch(230)
	for i := range 130 {
		all.Deliveries[i].Digest = true
	}
	all.Deliveries[229].SendAfter, all.Deliveries[229].Wait = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), "08:00 UTC: delay"
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	env.lists(all, nil)

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, inputs(all), env.deliveries.started)
	require.Equal(t, 230, env.deliveries.mostOpen) // the 99 to be sent at once have slots
}

// A page opens all that waits at once.
func TestNotifyPageThatWaits(t *testing.T) {
	t.Parallel()

	for _, n := range []int{0, 130} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()

			env, later := newPageEnv(t), waiting(batch(n))
			env.deliveries.end = takes[workflows.DeliverInput](10 * time.Hour)
			env.lists(later, nil)

			env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

			require.NoError(t, env.GetWorkflowError())
			require.ElementsMatch(t, inputs(later), env.deliveries.started)
			require.Equal(t, n, env.deliveries.mostOpen)
		})
	}
}

// A channel that stands, with more deliveries than it may have open, holds up no
// other.
func TestNotifyEventHasAWindowPerChannel(t *testing.T) {
	t.Parallel()

	env, all := newEventEnv(t), batch(260)
	all.Policies[notification.SMS] = policy(notification.SMS)
	for i := range 130 {
		all.Deliveries[i].Channel = notification.SMS
	}
	sent := map[notification.Channel][]time.Duration{}
	start := env.Now()
	env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
		defer func() { sent[in.Channel] = append(sent[in.Channel], workflow.Now(ctx).Sub(start)) }()
		if in.Channel == notification.SMS {
			return workflow.Sleep(ctx, 10*time.Hour)
		}
		return workflow.Sleep(ctx, time.Second)
	}
	env.plans(notification.Cursor{}, onlyPage(all))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
	require.ElementsMatch(t, inputs(all), env.deliveries.started)
	require.Equal(t, 200, env.deliveries.mostOpen)
	require.Equal(t, 2*time.Second, sent[notification.Email][129])
	require.Equal(t, 20*time.Hour, sent[notification.SMS][129])
}
