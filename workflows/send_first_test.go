package workflows_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// localInput is a delivery whose first attempt may be a local activity.
func localInput(channel notification.Channel) workflows.DeliverInput {
	in := deliverInput(channel)
	in.Policy = local(channel)
	return in
}

var full = answer{result: activities.SendResult{Status: notification.Pending, NotSent: true}}

// sendsFirst expects one call of SendFirst.
func (e *environment) sendsFirst(a answer) {
	e.OnActivity(acts.SendFirst, mock.Anything, mock.Anything).Return(a.result, a.err).Once()
}

func TestFirstAttempt(t *testing.T) {
	t.Parallel()

	const email, slack = notification.Email, notification.Slack
	busy := answer{err: temporal.NewApplicationErrorWithOptions("sendgrid is busy: 429", string(notification.Busy),
		temporal.ApplicationErrorOptions{NextRetryDelay: 7 * time.Second})}
	dropped := answer{result: activities.SendResult{Status: notification.Pending, Dropped: "USER_DISABLED"}}
	panics := answer{err: temporal.NewTimeoutError(0, nil)}
	tests := []struct {
		name    string
		channel notification.Channel
		first   answer
		then    []answer        // the answers of Send
		want    []time.Duration // from the start: when Send was called
		result  workflows.DeliverResult
		failure string
	}{
		{name: "sent", channel: email, first: sent, result: result(notification.Sent, "")},
		{name: "sent before", channel: email, first: found(notification.Delivered), result: result(notification.Delivered, "")},
		{name: "left to Send", channel: email, first: full, then: []answer{sent}, want: []time.Duration{0},
			result: result(notification.Sent, "")},
		{name: "busy", channel: email, first: busy, then: []answer{sent}, want: []time.Duration{7 * time.Second},
			result: result(notification.Sent, "")},
		{name: "failures of Herald", channel: email, first: panicky, then: []answer{outage, sent},
			want: []time.Duration{30 * time.Second, time.Minute}, result: result(notification.Sent, "")},
		{name: "no answer", channel: email, first: panics, then: []answer{sent}, want: []time.Duration{30 * time.Second},
			result: result(notification.Sent, "")},
		{name: "used up later", channel: email, first: busy, then: []answer{used}, want: []time.Duration{7 * time.Second},
			result: result(notification.Failed, message(used.err)), failure: workflows.DeliveryFailed},
		{name: "refused", channel: email, first: refused, result: result(notification.Failed, message(refused.err)),
			failure: workflows.DeliveryFailed},
		{name: "refused on a best-effort channel", channel: slack, first: refused, result: result(notification.Failed, message(refused.err))},
		{name: "dropped", channel: email, first: dropped, result: result(notification.Cancelled, "USER_DISABLED")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.sendsFirst(tt.first)
			calls := &sendCalls{}
			if len(tt.then) > 0 {
				calls = env.answersInTurn(tt.then...)
			}
			if tt.result.Reason != "" {
				env.givesUp(tt.channel, tt.result.Status, tt.result.Reason).Return(tt.result.Status, nil).Once()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, localInput(tt.channel))

			env.requireEnd(t, tt.failure, tt.result)
			require.Equal(t, tt.want, calls.at)
			require.NotContains(t, calls.judged, false)
		})
	}
}

// Send, not SendFirst, sends an operator's retries, and deliveries under a rate limit.
func TestNoFirstAttempt(t *testing.T) {
	t.Parallel()

	tests := map[string]func(in *workflows.DeliverInput){
		"channel with a rate limit": func(in *workflows.DeliverInput) { in.Policy.Local = false },
		"operator's retry":          func(in *workflows.DeliverInput) { *in = retryInput(false) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env, in := newEnv(t), localInput(notification.Email)
			change(&in)
			if in.Retry {
				env.reopens(false).Return(activities.ReopenResult{Status: notification.Pending, Policy: local(notification.Email)}, nil)
			}
			env.answersInTurn(sent)

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireDelivered(t, result(notification.Sent, ""))
		})
	}
}

// A delivery that is cancelled during its first attempt ends after the attempt: as SENT, or with
// the status of its row.
func TestCancelledDuringTheFirstAttempt(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		first answer
		row   notification.Status // the status after GiveUp; empty: no call
	}{
		{name: "sent", first: sent},
		{name: "failed temporarily", first: outage, row: notification.Cancelled},
		{name: "left to Send", first: full, row: notification.Cancelled},
		{name: "failed temporarily, but an earlier attempt was delivered", first: outage, row: notification.Delivered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.OnActivity(acts.SendFirst, mock.Anything,
				mock.Anything).Return(func(ctx context.Context, _ activities.SendInput) (activities.SendResult, error) {
				env.CancelWorkflow()
				return tt.first.result, cmp.Or(ctx.Err(), tt.first.err)
			}).Once()
			if tt.row != "" {
				env.cancels(tt.row)
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, localInput(notification.Email))

			env.requireCancelledAs(t, cmp.Or(tt.row, notification.Sent))
		})
	}
}

// The first attempt at a delivery that waits only reads its row.
func TestFirstAttemptReadsThatTheDeliveryWaits(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.row.until = env.Now().Add(3 * time.Hour)
	env.sendsFirst(answer{result: env.row.next(env.Now())})
	calls := env.answersInTurn(sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, localInput(notification.Email))

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, hours(3), calls.at)
}

// A delivery obeys a signal that comes before its first attempt: it stores the order, and asks the row.
// If a signal comes during the attempt, the delivery obeys it afterwards, if nothing was sent.
func TestSignalledAtTheFirstAttempt(t *testing.T) {
	t.Parallel()

	const before = true
	tests := []struct {
		name   string
		signal string
		before bool
		first  *answer         // of SendFirst; nil: no call
		want   []time.Duration // from the start: when Send was called
		judged []bool
	}{
		{name: "rescheduled before", signal: workflows.Reschedule, before: before, first: &sent},
		{name: "hastened before", signal: workflows.SendNow, before: before, first: &full, want: hours(0), judged: []bool{false}},
		{name: "rescheduled before, but a lost task sent it", signal: workflows.Reschedule, before: before},
		{name: "rescheduled, but sent", signal: workflows.Reschedule, first: &sent},
		{name: "rescheduled, failed temporarily", signal: workflows.Reschedule, first: &outage, want: hours(3), judged: []bool{true}},
		{name: "rescheduled, left to Send", signal: workflows.Reschedule, first: &full, want: hours(3), judged: []bool{true}},
		{name: "hastened, failed temporarily", signal: workflows.SendNow, first: &outage, want: hours(0), judged: []bool{false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, start := newEnv(t), time.Time{}
			start = env.Now()
			signal := func() { env.SignalWorkflow(tt.signal, start.Add(3*time.Hour)) }
			if tt.before {
				env.RegisterDelayedCallback(signal, 0)
			}
			if tt.first != nil {
				env.OnActivity(acts.SendFirst, mock.Anything, sendInput(notification.Email)).Return(tt.first.result, tt.first.err).Once().Run(func(
					mock.Arguments,
				) {
					if !tt.before {
						signal()
					} else if tt.signal == workflows.Reschedule {
						require.Equal(t, 3*time.Hour, env.Now().Sub(start))
					}
				})
			} else {
				env.OnActivity(acts.Reschedule, mock.Anything,
					activities.RescheduleInput{DeliveryID: deliveryID, Until: start.Add(3 * time.Hour).UTC()}).Return(sent.result, nil).Once()
			}
			calls := &sendCalls{}
			if tt.want != nil {
				calls = env.answersInTurn(sent)
			} else {
				env.reschedules()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, localInput(notification.Email))

			env.requireDelivered(t, result(notification.Sent, ""))
			require.Equal(t, tt.want, calls.at)
			require.Equal(t, tt.judged, calls.judged)
		})
	}
}
