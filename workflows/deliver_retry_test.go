package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// retryInput is a fresh run, which knows neither its policy nor what came before.
func retryInput(again bool) workflows.DeliverInput {
	return workflows.DeliverInput{DeliveryID: deliveryID, Channel: notification.Email, Retry: true, Again: again}
}

// reopens expects one call of ReopenDelivery.
func (e *environment) reopens(again bool) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.ReopenDelivery, mock.Anything, activities.ReopenInput{DeliveryID: deliveryID, Again: again}).Once()
}

// A retry is planned anew, and sent by the policy of today.
func TestRetriedDelivery(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		again   bool
		answers []answer
		want    workflows.DeliverResult
		failure string
	}{
		{name: "sent", answers: []answer{sent}, want: result(notification.Sent, "")},
		{name: "sent once more", again: true, answers: []answer{sent}, want: result(notification.Sent, "")},
		{name: "sent after an outage", answers: []answer{panicky, outage, sent}, want: result(notification.Sent, "")},
		{name: "failed again", answers: []answer{outage, used}, want: result(notification.Failed, message(used.err)), failure: workflows.DeliveryFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			today := policy(notification.Email)
			today.MaxAttempts = 7
			env.reopens(tt.again).Return(activities.ReopenResult{}, panicky.err)
			env.reopens(tt.again).Return(activities.ReopenResult{Status: notification.Pending, AttemptsBefore: 3, Policy: today}, nil)
			want := sendInput(notification.Email)
			want.MaxAttempts, want.AttemptsBefore, want.Ordered, want.Again = 7, 3, true, tt.again
			env.sends(want, tt.answers...)
			if tt.failure != "" {
				env.givesUp(notification.Email, notification.Failed, tt.want.Reason).Return(notification.Failed, nil).Once()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(tt.again))

			env.requireEnd(t, tt.failure, tt.want)
		})
	}
}

// A retry waits until the delivery's own time again, and is judged then as any that waits.
func TestRetriedDeliveryWaitsForItsOwnTime(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	in := retryInput(false)
	in.OwnTime = true
	reopened := activities.ReopenResult{Status: notification.Pending, AttemptsBefore: 3, Policy: policy(notification.Email), SendAfter: start.Add(9 * time.Hour), Wait: "its time"}
	env.OnActivity(acts.ReopenDelivery, mock.Anything, activities.ReopenInput{DeliveryID: deliveryID, OwnTime: true}).Return(reopened, nil).Once()
	calls := env.answersInTurn(sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, in)

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, hours(9), calls.at)
	require.Equal(t, []bool{true}, calls.judged)
}

// What was sent meanwhile is not sent again.
func TestRetriedDeliveryThatWasSent(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Sent, notification.Delivered} {
		env := newEnv(t)
		env.reopens(false).Return(activities.ReopenResult{Status: status}, nil)

		env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(false))

		env.requireDelivered(t, result(status, ""))
	}
}

func TestRetriedDeliveryThatCannotBePlanned(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.reopens(false).Return(activities.ReopenResult{}, noText.err)
	env.givesUp(notification.Email, notification.Failed, message(noText.err)).Return(notification.Failed, nil).Once()

	env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(false))

	env.requireEnd(t, workflows.DeliveryFailed, result(notification.Failed, message(noText.err)))
}

// Cancelled before it is reopened, a retry ends as its row says.
func TestRetriedDeliveryCancelled(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Cancelled, notification.Sent} {
		env := newEnv(t)
		env.reopens(true).Return(func(context.Context, activities.ReopenInput) (activities.ReopenResult, error) {
			env.CancelWorkflow()
			return activities.ReopenResult{}, panicky.err
		})
		env.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(status, nil).Once()

		env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(true))

		if status == notification.Cancelled {
			env.requireCancelled(t)
		} else {
			env.requireDelivered(t, result(status, ""))
		}
	}
}
