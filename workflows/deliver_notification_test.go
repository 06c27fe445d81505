package workflows_test

import (
	"cmp"
	"errors"
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

// answer is the result of one call of Send.
type answer struct {
	result activities.SendResult
	err    error
}

var (
	sent    = answer{result: activities.SendResult{Status: notification.Sent}}
	outage  = answer{err: temporal.NewApplicationError("sendgrid gave no clear answer: 503", string(notification.Ambiguous))}
	refused = answer{err: temporal.NewNonRetryableApplicationError("sendgrid refused: 400", string(notification.Refused), nil)}
	used    = answer{err: temporal.NewNonRetryableApplicationError("sendgrid gave no clear answer: 503", activities.AttemptsExhausted, nil)}
	off     = answer{
		err: temporal.NewNonRetryableApplicationError("EMAIL is not configured on this worker", activities.ChannelNotConfigured, nil),
	}
	noText  = answer{err: temporal.NewNonRetryableApplicationError("template order/EMAIL/en: name is missing", activities.NoText, nil)}
	noRow   = answer{err: temporal.NewNonRetryableApplicationError("no such delivery in notification", activities.NoSuchRow, nil)}
	panicky = answer{err: errors.New("database out of reach")}
)

func found(status notification.Status) answer {
	return answer{result: activities.SendResult{Status: status}}
}

func TestDeliverNotification(t *testing.T) {
	t.Parallel()

	const clear, unclear = "sendgrid refused: 400", "sendgrid gave no clear answer: 503"
	tests := []struct {
		name    string
		channel notification.Channel
		answers []answer
		gaveUp  notification.Status // the row's status after GiveUp; empty: no call
		lost    error               // the error of GiveUp
		want    workflows.DeliverResult
		failure string // type; empty: the workflow completes
	}{
		{name: "accepted", channel: notification.Email, answers: []answer{sent}, want: result(notification.Sent, "")},
		{name: "accepted after an outage", channel: notification.Email, answers: []answer{outage, outage, sent},
			want: result(notification.Sent, "")},
		{name: "accepted after failures of Herald", channel: notification.Email, answers: []answer{panicky, panicky, panicky, panicky, sent},
			want: result(notification.Sent, "")},
		{name: "attempts used up", channel: notification.Email, answers: []answer{outage, outage, used}, gaveUp: notification.Failed,
			want: result(notification.Failed, unclear), failure: workflows.DeliveryFailed},
		{name: "refused at once", channel: notification.SMS, answers: []answer{refused}, gaveUp: notification.Failed,
			want: result(notification.Failed, clear), failure: workflows.DeliveryFailed},
		{name: "refused, but a receipt confirms delivery", channel: notification.SMS, answers: []answer{refused}, gaveUp: notification.Delivered,
			want: result(notification.Delivered, "")},
		{name: "refused, but cancelled meanwhile", channel: notification.SMS, answers: []answer{refused}, gaveUp: notification.Cancelled,
			want: result(notification.Cancelled, clear)},
		{name: "channel is off", channel: notification.Email, answers: []answer{off}, gaveUp: notification.Failed,
			want: result(notification.Failed, message(off.err)), failure: workflows.DeliveryFailed},
		{name: "no answer", channel: notification.Email, answers: []answer{{err: temporal.NewTimeoutError(0, nil)}}, gaveUp: notification.Failed,
			want: result(notification.Failed, "no answer"), failure: workflows.DeliveryFailed},
		{name: "no text", channel: notification.Email, answers: []answer{noText}, gaveUp: notification.Failed,
			want: result(notification.Failed, message(noText.err)), failure: workflows.DeliveryFailed},
		{name: "refused on a best-effort channel", channel: notification.Slack, answers: []answer{refused}, gaveUp: notification.Failed,
			want: result(notification.Failed, clear)},
		{name: "attempts used up on a best-effort channel", channel: notification.WebSocket, answers: []answer{used},
			gaveUp: notification.Failed, want: result(notification.Failed, unclear)},
		{name: "sent before", channel: notification.Email, answers: []answer{found(notification.Sent)}, want: result(notification.Sent, "")},
		{name: "delivered before", channel: notification.Email, answers: []answer{found(notification.Delivered)},
			want: result(notification.Delivered, "")},
		{name: "cancelled before", channel: notification.Email, answers: []answer{found(notification.Cancelled)},
			want: result(notification.Cancelled, "")},
		{name: "no row", channel: notification.Email, answers: []answer{noRow}, lost: noRow.err, want: result("", message(noRow.err)),
			failure: activities.NoSuchRow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.sends(sendInput(tt.channel), tt.answers...)
			if tt.gaveUp != "" || tt.lost != nil {
				why := message(tt.answers[len(tt.answers)-1].err)
				env.givesUp(tt.channel, notification.Failed, why).Return(tt.gaveUp, tt.lost).Once()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(tt.channel))

			env.requireEnd(t, tt.failure, tt.want)
		})
	}
}

// The result names the provider and its id of the message, so that Temporal shows who sent it.
func TestDeliveryNamesItsProvider(t *testing.T) {
	t.Parallel()

	by := notification.SentBy{Provider: "sendgrid", ProviderMessageID: "m-1"}
	bySendgrid := answer{result: activities.SendResult{Status: notification.Sent, SentBy: by}}
	for name, run := range map[string]func(*environment) workflows.DeliverInput{
		"local": func(env *environment) workflows.DeliverInput {
			env.sendsFirst(bySendgrid)
			return localInput(notification.Email)
		},
		"under a rate limit": func(env *environment) workflows.DeliverInput {
			env.sends(sendInput(notification.Email), bySendgrid)
			return deliverInput(notification.Email)
		},
		"in a digest": func(env *environment) workflows.DeliverInput {
			env.joinsDigest(notification.Email).Return(waitsInDigest, nil)
			env.signals(window, digestEnded, workflows.DigestEnded{Status: notification.Sent, SentBy: by})
			return env.inDigest(notification.Email)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.ExecuteWorkflow(workflows.DeliverNotification, run(env))

			env.requireDelivered(t, workflows.DeliverResult{Status: notification.Sent, SentBy: by})
		})
	}
}

// The result of a digest names the provider as well, and tells it to the digest's items.
func TestDigestNamesItsProvider(t *testing.T) {
	t.Parallel()

	env, by := newEnv(t), notification.SentBy{Provider: "sendgrid", ProviderMessageID: "m-1"}
	env.joins(0, items(2)...)
	env.seals(sealed(2))
	env.sendsDigest(digestAnswer{result: activities.SendDigestResult{SentBy: by, Items: 2}})
	env.tells(workflows.DigestEnded{Status: notification.Sent, SentBy: by}, items(2)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, SentBy: by, Items: 2})
}

// If the activity could not record a sent message, the workflow records it later, even if the
// delivery is cancelled meanwhile. It does not send the message again.
func TestDeliverNotificationRecordsLater(t *testing.T) {
	t.Parallel()

	unrecorded := notification.AttemptResult{
		DeliveryID: deliveryID, Number: 1, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "p1",
	}
	accepted := answer{result: activities.SendResult{Status: notification.Sent, Unrecorded: &unrecorded}}
	for _, in := range []workflows.DeliverInput{deliverInput(notification.Email), localInput(notification.Email)} {
		for _, cancelled := range []bool{false, true} {
			env := newEnv(t)
			if in.Policy.Local {
				env.sendsFirst(accepted)
			} else {
				env.sends(sendInput(notification.Email), accepted)
			}
			env.OnActivity(acts.RecordSent, mock.Anything, unrecorded).Return(panicky.err).Times(3).Run(func(mock.Arguments) {
				if cancelled {
					env.CancelWorkflow()
				}
			})
			env.OnActivity(acts.RecordSent, mock.Anything, unrecorded).Return(nil).Once()

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireDelivered(t, result(notification.Sent, ""))
		}
	}
}

func TestDeliverNotificationIntervals(t *testing.T) {
	t.Parallel()

	busy := func(delay time.Duration) answer {
		return answer{err: temporal.NewApplicationErrorWithOptions("twilio is busy: 429", string(notification.Busy),
			temporal.ApplicationErrorOptions{NextRetryDelay: delay})}
	}
	tests := []struct {
		name    string
		policy  time.Duration // its first interval; 0: the default
		answers []answer
		want    []time.Duration // before each further attempt
	}{
		{name: "lost attempts", answers: []answer{outage, outage, outage, sent},
			want: []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}},
		{name: "first interval of the policy", policy: 5 * time.Second, answers: []answer{outage, outage, sent},
			want: []time.Duration{5 * time.Second, 5 * time.Second}},
		{name: "intervals from the provider", answers: []answer{busy(7 * time.Second), busy(11 * time.Minute), sent},
			want: []time.Duration{7 * time.Second, 11 * time.Minute}},
		{name: "a lost attempt after waits", answers: []answer{busy(7 * time.Second), busy(7 * time.Second), outage, sent},
			want: []time.Duration{7 * time.Second, 7 * time.Second, 30 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env := deliverInput(notification.Email), newEnv(t)
			in.Policy.FirstRetry = cmp.Or(tt.policy, in.Policy.FirstRetry)
			calls := env.answersInTurn(tt.answers...)

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireDelivered(t, result(notification.Sent, ""))
			require.Equal(t, tt.want, intervals(calls.at))
		})
	}
}

const deliveryID = "evt-1-staff10-EMAIL"

func deliverInput(channel notification.Channel) workflows.DeliverInput {
	return workflows.DeliverInput{DeliveryID: deliveryID, Channel: channel, Policy: policy(channel)}
}

// sendInput is the input of Send for deliverInput.
func sendInput(channel notification.Channel) activities.SendInput {
	return activities.SendInput{DeliveryID: deliveryID, Channel: channel, AttemptPolicy: policy(channel).AttemptPolicy}
}

func result(status notification.Status, reason string) workflows.DeliverResult {
	return workflows.DeliverResult{Status: status, Reason: reason}
}

// message returns an activity's failure with a message. An attempt without an answer has
// no message.
func message(err error) string {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) {
		return failure.Message()
	}
	return "no answer"
}

func intervals(moments []time.Duration) []time.Duration {
	var between []time.Duration
	for i := range len(moments) - 1 {
		between = append(between, moments[i+1]-moments[i])
	}
	return between
}

// retryInput is the input of a new run, which has neither a policy nor earlier attempts.
func retryInput(again bool) workflows.DeliverInput {
	return workflows.DeliverInput{DeliveryID: deliveryID, Channel: notification.Email, Retry: true, Again: again}
}

// reopens expects one call of ReopenDelivery.
func (e *environment) reopens(again bool) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.ReopenDelivery, mock.Anything, activities.ReopenInput{DeliveryID: deliveryID, Again: again}).Once()
}

// A retried delivery is planned again and sent by the current policy, unless it was sent meanwhile.
func TestRetriedDelivery(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		again   bool
		ended   notification.Status // the status that ReopenDelivery finds; empty: PENDING
		problem error               // the error of ReopenDelivery
		answers []answer
		want    workflows.DeliverResult
		failure string
	}{
		{name: "sent", answers: []answer{sent}, want: result(notification.Sent, "")},
		{name: "sent once more", again: true, answers: []answer{sent}, want: result(notification.Sent, "")},
		{name: "sent after an outage", answers: []answer{panicky, outage, sent}, want: result(notification.Sent, "")},
		{name: "failed again", answers: []answer{outage, used}, want: result(notification.Failed, message(used.err)),
			failure: workflows.DeliveryFailed},
		{name: "sent meanwhile", ended: notification.Sent, want: result(notification.Sent, "")},
		{name: "delivered meanwhile", ended: notification.Delivered, want: result(notification.Delivered, "")},
		{name: "not planned", problem: noText.err, want: result(notification.Failed, message(noText.err)), failure: workflows.DeliveryFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			today := policy(notification.Email)
			today.MaxAttempts = 7
			env.reopens(tt.again).Return(activities.ReopenResult{}, panicky.err)
			env.reopens(tt.again).Return(activities.ReopenResult{Status: cmp.Or(tt.ended, notification.Pending), AttemptsBefore: 3, Policy: today},
				tt.problem)
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

// A retry that was lost continues with its order and its attempts, and does not reopen the row again.
func TestLostRetry(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	in := deliverInput(notification.Email)
	in.Ordered, in.AttemptsBefore = true, 3
	want := sendInput(notification.Email)
	want.Ordered, want.AttemptsBefore = true, 3
	env.sends(want, sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, in)

	env.requireEnd(t, "", result(notification.Sent, ""))
}

// A retry waits until the delivery's own time again. Then the rules apply as usual.
func TestRetriedDeliveryWaitsForItsOwnTime(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	reopened := activities.ReopenResult{Status: notification.Pending, AttemptsBefore: 3, Policy: policy(notification.Email), Waits: true}
	env.row.until = start.Add(9 * time.Hour)
	env.OnActivity(acts.ReopenDelivery, mock.Anything, activities.ReopenInput{DeliveryID: deliveryID}).Return(reopened, nil).Once()
	calls := env.answersInTurn(sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(false))

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, hours(9), calls.at)
	require.Equal(t, []bool{true}, calls.judged)
}

// A retry that is cancelled before it is reopened ends with the status of its row.
func TestRetriedDeliveryCancelled(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Cancelled, notification.Sent} {
		env := newEnv(t)
		env.reopens(true).Return(activities.ReopenResult{}, panicky.err).Run(func(mock.Arguments) { env.CancelWorkflow() })
		env.cancels(status)

		env.ExecuteWorkflow(workflows.DeliverNotification, retryInput(true))

		env.requireCancelledAs(t, status)
	}
}
