package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

func TestDeliverNotificationCancelled(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		delay time.Duration // of SendAfter; 0: none
		next  time.Duration // of Next; 0: none
		when  time.Duration // of the cancellation
		sends []answer
	}{
		{name: "before it began"},
		{name: "before it began to wait", delay: time.Hour},
		{name: "while it waits", delay: time.Hour, when: time.Minute},
		{name: "while it waits for its second attempt", next: time.Hour, when: time.Minute},
		{name: "between two attempts", when: 10 * time.Second, sends: []answer{outage}},
		{name: "between two attempts after a delay", delay: time.Hour, when: time.Hour + 10*time.Second, sends: []answer{outage}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, wantSend, env := deliverInput(notification.Email), sendInput(notification.Email), newEnv(t)
			if tt.delay != 0 {
				in.SendAfter = env.Now().Add(tt.delay)
			}
			if tt.next != 0 {
				in.Next = env.Now().Add(tt.next)
			}
			env.RegisterDelayedCallback(env.CancelWorkflow, tt.when)
			env.sends(wantSend, tt.sends...)
			env.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(notification.Cancelled, nil).Once()

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireCancelled(t)
		})
	}
}

// Cancelled during an attempt, a delivery ends as its row says: the attempt may
// have succeeded. That the workflow waits for it, which this environment does
// not do, is in the recorded histories.
func TestDeliverNotificationCancelledDuringAnAttempt(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Cancelled, notification.Sent, notification.Delivered} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.OnActivity(acts.Send, mock.Anything, mock.Anything).Return(func(context.Context, activities.SendInput) (activities.SendResult, error) {
				env.CancelWorkflow()
				return outage.result, outage.err
			}).Once()
			env.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(status, nil).Once()

			env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

			if status == notification.Cancelled {
				env.requireCancelled(t)
			} else {
				env.requireDelivered(t, result(status, ""))
			}
		})
	}
}

// A cancellation that comes while an end is being recorded changes nothing.
func TestDeliverNotificationCancelledWhileRecording(t *testing.T) {
	t.Parallel()

	t.Run("a failure", func(t *testing.T) {
		t.Parallel()

		env := newEnv(t)
		env.sends(sendInput(notification.Email), refused)
		giveUp := activities.GiveUpInput{DeliveryID: deliveryID, Channel: notification.Email, Status: notification.Failed, Reason: message(refused.err)}
		env.OnActivity(acts.GiveUp, mock.Anything, giveUp).Return(func(context.Context, activities.GiveUpInput) (notification.Status, error) {
			env.CancelWorkflow()
			return "", panicky.err
		}).Once()
		env.OnActivity(acts.GiveUp, mock.Anything, giveUp).Return(notification.Failed, nil).Once()

		env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

		env.requireEnd(t, workflows.DeliveryFailed, result(notification.Failed, message(refused.err)))
	})
	t.Run("a success", func(t *testing.T) {
		t.Parallel()

		unrecorded := notification.AttemptResult{DeliveryID: deliveryID, Number: 1, Outcome: notification.OutcomeSent}
		env := newEnv(t)
		env.sends(sendInput(notification.Email), answer{result: activities.SendResult{Status: notification.Sent, Unrecorded: &unrecorded}})
		env.OnActivity(acts.RecordSent, mock.Anything, unrecorded).Return(func(context.Context, notification.AttemptResult) error {
			env.CancelWorkflow()
			return panicky.err
		}).Once()
		env.OnActivity(acts.RecordSent, mock.Anything, unrecorded).Return(nil).Once()

		env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

		env.requireDelivered(t, result(notification.Sent, ""))
	})
}
