package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// Hastened once, a delivery goes on by its policy; rescheduled, it can be
// hastened again.
func TestDeliverNotificationHastenedAgainAndAgain(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	env.signals(10*time.Second, workflows.SendNow, nil)
	env.signals(time.Minute, workflows.Reschedule, start.Add(8*time.Hour))
	env.signals(time.Hour, workflows.Reschedule, start.Add(9*time.Hour))
	env.signals(2*time.Hour, workflows.SendNow, nil)
	calls := env.answersInTurn(outage, outage, outage, sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, []time.Duration{0, 10 * time.Second, 40 * time.Second, 2 * time.Hour}, calls.at)
	require.Equal(t, []bool{true, false, false, false}, calls.judged)
}

// A signal that came while the delivery was planned anew is not lost.
func TestRetriedDeliveryRescheduledBeforeItsFirstAttempt(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	env.reopens(false).Return(func(context.Context, activities.ReopenInput) (activities.ReopenResult, error) {
		env.SignalWorkflow(workflows.Reschedule, start.Add(3*time.Hour))
		return activities.ReopenResult{Status: notification.Pending, Policy: policy(notification.Email)}, nil
	})
	calls := env.answersInTurn(sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(false))

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, hours(3), calls.at)
}

// Cancelled together with a signal, or while it waits for what the signal asked
// for, a delivery is cancelled.
func TestDeliverNotificationHastenedAndCancelled(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		signal string
		hours  int           // until when it is rescheduled
		later  time.Duration // from the signal to the cancellation
	}{
		{name: "send now, at once", signal: workflows.SendNow},
		{name: "rescheduled, at once", signal: workflows.Reschedule, hours: 8},
		{name: "rescheduled to the past, at once", signal: workflows.Reschedule, hours: -1},
		{name: "rescheduled, later", signal: workflows.Reschedule, hours: 8, later: time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			until, sends := env.Now().Add(time.Duration(tt.hours)*time.Hour), 0
			env.OnActivity(acts.Send, mock.Anything, mock.Anything).Return(func(context.Context, activities.SendInput) (activities.SendResult, error) {
				if sends++; sends == 1 && tt.later == 0 {
					env.CancelWorkflow()
					env.SignalWorkflow(tt.signal, until)
				}
				return outage.result, outage.err
			})
			if tt.later > 0 {
				env.signals(10*time.Second, tt.signal, until)
				env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second+tt.later)
			}
			env.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(notification.Cancelled, nil).Once()

			env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

			env.requireCancelled(t)
			require.Equal(t, 1, sends)
		})
	}
}
