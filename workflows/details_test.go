package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// detailsOf runs a workflow, cancels it after two hours, and returns the current details that it
// showed at the time `after`.
func detailsOf[Input, Result any](
	env *environment, run func(workflow.Context, Input) (Result, error), in Input, after time.Duration,
) string {
	var details string
	env.RegisterDelayedCallback(env.CancelWorkflow, 2*time.Hour)
	env.ExecuteWorkflow(func(ctx workflow.Context) (Result, error) {
		workflow.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Sleep(ctx, after)
			details = workflow.GetCurrentDetails(ctx)
		})
		return run(ctx, in)
	})
	return details
}

// The Web UI shows operators what a delivery waits for, and until when.
func TestDeliverNotificationDetails(t *testing.T) {
	t.Parallel()

	const words = "08:00 Europe/Rome: quiet hours"
	later := func(env *environment) workflows.DeliverInput {
		env.row = row{until: env.Now().Add(time.Minute), why: "17:30 Europe/Rome: delay"}
		return deliverInput(notification.Email)
	}
	tests := []struct {
		name  string
		begin func(env *environment) workflows.DeliverInput
		after time.Duration
		want  string
	}{
		{name: "delay", begin: func(env *environment) workflows.DeliverInput {
			env.answersInTurn(outage)
			return later(env)
		}, after: time.Second, want: "waiting until 17:30 Europe/Rome: delay"},
		{name: "quiet hours", begin: func(env *environment) workflows.DeliverInput {
			env.answersInTurn(answer{
				result: activities.SendResult{Status: notification.Pending, NotBefore: env.Now().Add(8 * time.Hour), Wait: words},
			})
			return later(env)
		}, after: time.Hour, want: "waiting until " + words},
		{name: "rescheduled", begin: func(env *environment) workflows.DeliverInput {
			env.answersInTurn()
			env.signals(time.Second, workflows.Reschedule, time.Date(2099, 11, 22, 8, 0, 0, 0, time.FixedZone("", 3600)))
			return later(env)
		}, after: time.Hour, want: "waiting until 2099-11-22 07:00:00.000Z: rescheduled by an operator"},
		{name: "retried", begin: func(env *environment) workflows.DeliverInput {
			env.answersInTurn(outage)
			return deliverInput(notification.Email)
		}, after: time.Second, want: "sending; see Pending Activities for failed attempts and the time of the next attempt"},
		{name: "first attempt failed", begin: func(env *environment) workflows.DeliverInput {
			env.sendsFirst(outage)
			return localInput(notification.Email)
		}, after: time.Second, want: "the last attempt failed, and the next attempt is due then"},
		{name: "in a digest", begin: func(env *environment) workflows.DeliverInput {
			env.joinsDigest(notification.Email).Return(waitsInDigest, nil)
			return env.inDigest(notification.Email)
		}, after: time.Hour, want: "waiting for its digest, the workflow " + digestWorkflowID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			in := tt.begin(env)
			env.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(notification.Cancelled,
				nil).Maybe()

			require.Contains(t, detailsOf(env, workflows.DeliverNotification, in, tt.after), tt.want)
		})
	}
}

func TestDigestDetails(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		begin func(env *environment)
		after time.Duration
		want  string
	}{
		{name: "collecting", begin: func(env *environment) { env.seals(sealed(0)) }, after: time.Minute,
			want: "2 of at most 100 joined; collecting until 2099-11-22 07:00:00.000Z"},
		{name: "quiet hours", begin: func(env *environment) {
			env.signals(time.Second, workflows.Reschedule, env.Now())
			env.seals(quietUntil(env.Now().Add(8*time.Hour)), sealed(0))
		}, after: time.Hour, want: "2 joined; waiting until 08:00 Europe/Rome: quiet hours"},
		{name: "being sent", begin: func(env *environment) {
			env.signals(time.Second, workflows.SendNow, nil)
			env.seals(sealed(2))
			env.sendsDigest(digestAnswer{err: outage.err})
		}, after: 2 * time.Second, want: "sending 2 notifications"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, in := newEnv(t), digestInput()
			in.Until = time.Date(2099, 11, 22, 7, 0, 0, 0, time.UTC)
			env.joins(0, items(2)...)
			tt.begin(env)

			require.Equal(t, tt.want, detailsOf(env, workflows.Digest, in, tt.after))
		})
	}
}
