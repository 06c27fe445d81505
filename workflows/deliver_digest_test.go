package workflows_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

const digestWorkflowID = "herald-digest-staff10-EMAIL-REVIEW_POSTED"

var waitsInDigest = activities.JoinResult{Status: notification.Pending, DigestID: digestWorkflowID, Window: window}

// inDigest returns the input of a delivery whose row says that its digest sends it.
func (e *environment) inDigest(channel notification.Channel) workflows.DeliverInput {
	e.OnActivity(acts.Send, mock.Anything, sendInput(channel)).Return(activities.SendResult{Status: notification.Pending, InDigest: true},
		nil).Once()
	return deliverInput(channel)
}

// joinsDigest expects one call of JoinDigest.
func (e *environment) joinsDigest(channel notification.Channel) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.JoinDigest, mock.Anything, activities.JoinInput{DeliveryID: deliveryID, Channel: channel}).Once()
}

// A digest lists planned deliveries, even if their workflows have not joined yet. A delivery fails
// as usual if it has no text or failed before it joined.
func TestDeliverInDigest(t *testing.T) {
	t.Parallel()

	before := temporal.NewNonRetryableApplicationError("sendgrid refused: 400", activities.FailedBefore, nil)
	const refusal, quiet = "sendgrid refused: 400", "QUIET_HOURS"
	const sent, failed, cancelled = notification.Sent, notification.Failed, notification.Cancelled
	tests := []struct {
		name    string
		channel notification.Channel
		before  notification.Status // the status before it joins; empty: it joins
		problem error               // the error of JoinDigest
		ended   workflows.DigestEnded
		gaveUp  notification.Status // the row's status after GiveUp; empty: no call
		want    workflows.DeliverResult
		failure string
	}{
		{name: "sent", channel: notification.Email, ended: workflows.DigestEnded{Status: sent}, want: result(sent, "")},
		{name: "failed", channel: notification.Email, ended: workflows.DigestEnded{Status: failed, Reason: refusal}, gaveUp: failed,
			want: result(failed, refusal), failure: workflows.DeliveryFailed},
		{name: "failed on a best-effort channel", channel: notification.Slack, ended: workflows.DigestEnded{Status: failed, Reason: refusal},
			gaveUp: failed, want: result(failed, refusal)},
		{name: "failed, but an earlier attempt was delivered", channel: notification.SMS,
			ended: workflows.DigestEnded{Status: failed, Reason: refusal}, gaveUp: notification.Delivered, want: result(notification.Delivered, "")},
		{name: "dropped", channel: notification.Email, ended: workflows.DigestEnded{Status: cancelled, Reason: quiet}, gaveUp: cancelled,
			want: result(cancelled, quiet)},
		{name: "sent before", channel: notification.Email, before: sent, want: result(sent, "")},
		{name: "delivered before", channel: notification.Email, before: notification.Delivered, want: result(notification.Delivered, "")},
		{name: "cancelled before", channel: notification.Email, before: cancelled, want: result(cancelled, "")},
		{name: "failed before", channel: notification.Email, problem: before, ended: workflows.DigestEnded{Status: failed, Reason: refusal},
			gaveUp: failed, want: result(failed, refusal), failure: workflows.DeliveryFailed},
		{name: "all cancelled, but sent by an earlier attempt", channel: notification.Email, ended: workflows.DigestEnded{Status: cancelled},
			gaveUp: sent, want: result(sent, "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, joined := newEnv(t), waitsInDigest
			joined.Status = cmp.Or(tt.before, joined.Status)
			env.joinsDigest(tt.channel).Return(joined, tt.problem)
			env.signals(window, digestEnded, tt.ended)
			if tt.gaveUp != "" {
				env.givesUp(tt.channel, tt.ended.Status, tt.ended.Reason).Return(tt.gaveUp, nil).Once()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(tt.channel))

			env.requireEnd(t, tt.failure, tt.want)
		})
	}
}

// The digest's signal counts even if the delivery is still joining.
func TestDeliverInDigestEndedWhileItJoined(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	env.joinsDigest(notification.Email).Return(activities.JoinResult{}, panicky.err)
	env.joinsDigest(notification.Email).Return(waitsInDigest, nil).Run(func(mock.Arguments) {
		env.SignalWorkflow(digestEnded, workflows.DigestEnded{Status: notification.Sent})
	})

	env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(notification.Email))

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Less(t, env.Now().Sub(start), window)
}

// A digest that sends no signal may have been terminated: the delivery joins again, at
// growing intervals.
func TestDeliverInDigestThatIsSilent(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	var calls []time.Duration
	start := env.Now()
	env.OnActivity(acts.JoinDigest, mock.Anything,
		mock.Anything).Return(func(context.Context, activities.JoinInput) (activities.JoinResult, error) {
		calls = append(calls, env.Now().Sub(start))
		if len(calls) == 8 {
			return activities.JoinResult{Status: notification.Sent}, nil
		}
		return waitsInDigest, nil
	}).Times(8)

	env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(notification.Email))

	env.requireDelivered(t, result(notification.Sent, ""))
	var silences []time.Duration
	for _, hours := range []time.Duration{1, 2, 4, 8, 12, 12, 12} {
		silences = append(silences, hours*time.Hour+window)
	}
	require.Equal(t, silences, intervals(calls))
}

// A delivery passes an operator's signals to its digest.
func TestDeliverInDigestForwardsSignals(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	until := env.Now().Add(time.Hour).UTC()
	env.joinsDigest(notification.Email).Return(waitsInDigest, nil)
	env.signals(0, digestEnded, "nonsense")
	env.signals(time.Second, workflows.SendNow, nil)
	env.signals(2*time.Second, workflows.Reschedule, "tomorrow")
	env.signals(3*time.Second, workflows.Reschedule, until)
	env.signals(window, digestEnded, workflows.DigestEnded{Status: notification.Sent})
	env.OnSignalExternalWorkflow(mock.Anything, digestWorkflowID, "", workflows.SendNow, nil).Return(nil).Once()
	same := mock.MatchedBy(func(at time.Time) bool { return at.Equal(until) })
	env.OnSignalExternalWorkflow(mock.Anything, digestWorkflowID, "", workflows.Reschedule, same).Return(errGone).Once()

	env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(notification.Email))

	env.requireDelivered(t, result(notification.Sent, ""))
}

// A delivery that is cancelled while it waits ends with the status of its row. While the provider
// has the digest, the row is PENDING: then the delivery checks again.
func TestDeliverInDigestCancelled(t *testing.T) {
	t.Parallel()

	const pending, sent, cancelled = notification.Pending, notification.Sent, notification.Cancelled
	tests := []struct {
		name  string
		found []notification.Status // the status after each call of GiveUp
		ended time.Duration         // end of the digest, from the cancellation; 0: it does not end
		want  time.Duration         // end of the delivery, from the cancellation
	}{
		{name: "in time", found: []notification.Status{cancelled}},
		{name: "too late", found: []notification.Status{sent}},
		{name: "during an attempt that fails", found: []notification.Status{pending, pending, cancelled}, want: 10 * time.Second},
		{name: "during an attempt that succeeds", found: []notification.Status{pending, pending, sent}, want: 10 * time.Second},
		{name: "during the last attempt", found: []notification.Status{pending, pending, sent}, ended: 7 * time.Second, want: 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			start := env.Now()
			env.joinsDigest(notification.Email).Return(waitsInDigest, nil)
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
			if tt.ended > 0 {
				env.signals(time.Minute+tt.ended, digestEnded, workflows.DigestEnded{Status: notification.Sent})
			}
			for _, status := range tt.found {
				env.cancels(status)
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(notification.Email))

			require.Equal(t, time.Minute+tt.want, env.Now().Sub(start))
			env.requireCancelledAs(t, tt.found[len(tt.found)-1])
		})
	}
}

func TestDeliverInDigestCancelledWhileItJoins(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.joinsDigest(notification.Email).Return(waitsInDigest, nil).Run(func(mock.Arguments) { env.CancelWorkflow() })
	env.cancels(notification.Cancelled)

	env.ExecuteWorkflow(workflows.DeliverNotification, env.inDigest(notification.Email))

	env.requireCancelled(t)
}
