package workflows_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

func TestDeliverNotificationWaits(t *testing.T) {
	t.Parallel()

	quiet := answer{result: activities.SendResult{Status: notification.Pending, Dropped: string(notification.DecisionQuietHours)}}
	optedOut := answer{result: activities.SendResult{Status: notification.Pending, Dropped: "USER_DISABLED"}}
	tests := []struct {
		name    string
		delay   time.Duration   // the time in the row, from the start; 0: none
		outages int             // failed attempts before the last answer
		quietly []time.Duration // ends of the quiet hours that the calls of Send find, except the last call; from the start
		last    answer
		want    []time.Duration // times of the calls of Send, from the start
		judged  []bool          // for each call: did it check quiet hours
		result  workflows.DeliverResult
	}{
		{name: "no wait", last: sent, want: hours(0), judged: []bool{true}, result: result(notification.Sent, "")},
		{name: "after a delay", delay: 8 * time.Hour, last: sent, want: hours(8), judged: []bool{true}, result: result(notification.Sent, "")},
		{name: "a delay that ended before the start", delay: -time.Hour, last: sent, want: hours(0), judged: []bool{true},
			result: result(notification.Sent, "")},
		{name: "the delay ends in quiet hours", delay: time.Hour, quietly: hours(9), last: sent, want: hours(1, 9), judged: []bool{true, true},
			result: result(notification.Sent, "")},
		{name: "quiet hours three times", delay: time.Hour, quietly: hours(9, 33, 57), last: sent, want: hours(1, 9, 33, 57),
			judged: []bool{true, true, true, true}, result: result(notification.Sent, "")},
		{name: "quiet hours over by Temporal's clock", delay: 2 * time.Hour, quietly: hours(1), last: sent,
			want: []time.Duration{2 * time.Hour, 2*time.Hour + time.Second}, judged: []bool{true, true}, result: result(notification.Sent, "")},
		{name: "dropped", delay: time.Hour, last: quiet, want: hours(1), judged: []bool{true},
			result: result(notification.Cancelled, "QUIET_HOURS")},
		{name: "deferred, then dropped", delay: time.Hour, quietly: hours(9), last: quiet, want: hours(1, 9), judged: []bool{true, true},
			result: result(notification.Cancelled, "QUIET_HOURS")},
		{name: "opted out meanwhile", delay: time.Hour, last: optedOut, want: hours(1), judged: []bool{true},
			result: result(notification.Cancelled, "USER_DISABLED")},
		{name: "opted out of a backlog", last: optedOut, want: hours(0), judged: []bool{true},
			result: result(notification.Cancelled, "USER_DISABLED")},
		{name: "attempted in a batch, due", delay: -time.Hour, last: sent, want: hours(0), judged: []bool{true},
			result: result(notification.Sent, "")},
		{name: "attempted in a batch, not due yet", delay: time.Hour, last: sent, want: hours(1), judged: []bool{true},
			result: result(notification.Sent, "")},
		{name: "attempted in a batch, second attempt fails", delay: time.Hour, outages: 1, last: sent,
			want: []time.Duration{time.Hour, time.Hour + 30*time.Second}, judged: []bool{true, true}, result: result(notification.Sent, "")},
		{name: "deferred, then opted out", delay: time.Hour, quietly: hours(9), last: optedOut, want: hours(1, 9), judged: []bool{true, true},
			result: result(notification.Cancelled, "USER_DISABLED")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env := deliverInput(notification.Email), newEnv(t)
			start := env.Now()
			if tt.delay != 0 {
				env.row.until = start.Add(tt.delay)
			}
			answers := append(untils(start, tt.quietly), slices.Repeat([]answer{outage}, tt.outages)...)
			calls := env.answersInTurn(append(answers, tt.last)...)
			if tt.result.Status == notification.Cancelled {
				env.givesUp(notification.Email, notification.Cancelled, tt.result.Reason).Return(notification.Cancelled, nil).Once()
			}

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireDelivered(t, tt.result)
			require.Equal(t, tt.want, calls.at)
			require.Equal(t, tt.judged, calls.judged)
		})
	}
}

// A delivery that its attempt holds back for a minute or longer gives back its slot, once. The parent knows of
// a wait that was planned.
func TestDeliverNotificationTellsThatItWaits(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		planned time.Duration // the time in the row, from the start; 0: none
		until   []time.Duration
		want    []time.Duration
	}{
		"no wait":          {},
		"a short wait":     {until: []time.Duration{59 * time.Second}},
		"a cap":            {until: hours(24), want: hours(0)},
		"twice":            {until: hours(24, 48), want: hours(0)},
		"short, then long": {until: []time.Duration{30 * time.Second, time.Hour}, want: []time.Duration{30 * time.Second}},
		"planned":          {planned: time.Hour, until: hours(24)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			in, env := deliverInput(notification.Email), newEnv(t)
			start := env.Now()
			if in.HoldsSlot = tt.planned == 0; !in.HoldsSlot {
				env.row.until = start.Add(tt.planned)
			}
			env.answersInTurn(append(untils(start, tt.until), sent)...)

			told := env.runsAsChild(realDelivery, in)

			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tt.want, told)
		})
	}
}

// The database's clock may be behind Temporal's. A delivery that the database still holds back is tried
// again after growing pauses.
func TestDeliverNotificationPauses(t *testing.T) {
	t.Parallel()

	in, env := deliverInput(notification.Email), newEnv(t)
	calls := env.answersInTurn(append(untils(env.Now(), hours(1, 1, 1, 1, 1, 1, 1, 1, 1)), sent)...)

	env.ExecuteWorkflow(workflows.DeliverNotification, in)

	env.requireDelivered(t, result(notification.Sent, ""))
	after := make([]int, 0, len(calls.at))
	for _, at := range calls.at[1:] {
		after = append(after, int((at - time.Hour).Seconds()))
	}
	require.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 123, 183}, after)
}

// sendCalls holds the times of the calls of Send, from the start, and whether each call
// checked quiet hours.
type sendCalls struct {
	at     []time.Duration
	judged []bool
}

// row plays the time in a delivery's row, and an operator's order.
type row struct {
	until time.Time
	why   string
	now   bool // an operator sends the delivery now
}

// next returns what the row says at a time.
func (r row) next(at time.Time) activities.SendResult {
	if r.until.After(at) {
		return activities.SendResult{Status: notification.Pending, NotBefore: r.until.UTC(), Wait: r.why}
	}
	return activities.SendResult{Status: notification.Pending, NotSent: true}
}

// answersInTurn plays Send and Reschedule. Before the time in the row, Send only answers what the row
// says, and this is no call of sendCalls.
func (e *environment) answersInTurn(answers ...answer) *sendCalls {
	calls, start := &sendCalls{}, e.Now()
	e.unanswered += len(answers)
	e.OnActivity(acts.Send, mock.Anything, mock.Anything).Return(func(context.Context, activities.SendInput) (activities.SendResult, error) {
		if step := e.row.next(e.Now()); !step.NotSent {
			return step, nil
		}
		calls.at, calls.judged = append(calls.at, e.Now().Sub(start)), append(calls.judged, !e.row.now)
		now := answers[len(calls.at)-1]
		e.unanswered--
		if !now.result.NotBefore.IsZero() {
			e.row.until, e.row.why = now.result.NotBefore, now.result.Wait
		}
		return now.result, now.err
	}).Maybe()
	e.reschedules()
	return calls
}

// reschedules plays Reschedule.
func (e *environment) reschedules() {
	e.OnActivity(acts.Reschedule, mock.Anything,
		mock.Anything).Return(func(_ context.Context, in activities.RescheduleInput) (activities.SendResult, error) {
		e.row = row{until: in.Until, why: notification.InstantText(in.Until) + ": " + notification.WaitOperator, now: in.Until.IsZero()}
		return e.row.next(e.Now()), nil
	}).Maybe()
}

// untils returns answers with quiet hours until some hours after start.
func untils(start time.Time, ends []time.Duration) []answer {
	var answers []answer
	for _, end := range ends {
		answers = append(answers, answer{result: activities.SendResult{Status: notification.Pending, NotBefore: start.Add(end).UTC()}})
	}
	return answers
}

func hours(n ...int) []time.Duration {
	var durations []time.Duration
	for _, h := range n {
		durations = append(durations, time.Duration(h)*time.Hour)
	}
	return durations
}

// Each signal counts, even after a signal that was ignored.
func TestDeliverNotificationSignalAfterSignal(t *testing.T) {
	t.Parallel()

	in, env := deliverInput(notification.Email), newEnv(t)
	start := env.Now()
	env.row.until = start.Add(8 * time.Hour)
	for i, arg := range []any{start.Add(20 * time.Hour), "tomorrow", start.Add(30 * time.Hour), start.Add(10 * time.Hour)} {
		env.signals(time.Duration(i+1)*time.Hour, workflows.Reschedule, arg)
	}
	env.signals(9*time.Hour, workflows.SendNow, nil)
	calls := env.answersInTurn(sent)

	env.ExecuteWorkflow(workflows.DeliverNotification, in)

	env.requireDelivered(t, result(notification.Sent, ""))
	require.Equal(t, hours(9), calls.at)
	require.Equal(t, []bool{false}, calls.judged)
}

// After SendNow, a delivery continues by its policy. After Reschedule, an operator can send it now
// again.
func TestDeliverNotificationSeveralSignals(t *testing.T) {
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

// A signal that comes while the delivery is planned again is not lost.
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

// A delivery ends as cancelled if it is cancelled together with a signal, or during the wait that
// the signal ordered.
func TestDeliverNotificationCancelledAfterASignal(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		signal string
		hours  int           // the new time, from the start
		later  time.Duration // from the signal to the cancellation
	}{
		{name: "cancelled together with send now", signal: workflows.SendNow},
		{name: "cancelled together with reschedule", signal: workflows.Reschedule, hours: 8},
		{name: "cancelled together with reschedule to the past", signal: workflows.Reschedule, hours: -1},
		{name: "cancelled an hour after reschedule", signal: workflows.Reschedule, hours: 8, later: time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			until, sends := env.Now().Add(time.Duration(tt.hours)*time.Hour), 0
			env.OnActivity(acts.Send, mock.Anything, mock.Anything).Return(outage.result, outage.err).Run(func(mock.Arguments) {
				if sends++; sends == 1 && tt.later == 0 {
					env.CancelWorkflow()
					env.SignalWorkflow(tt.signal, until)
				}
			})
			env.reschedules()
			if tt.later > 0 {
				env.signals(10*time.Second, tt.signal, until)
				env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second+tt.later)
			}
			env.cancels(notification.Cancelled)

			env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

			env.requireCancelled(t)
			require.Equal(t, 1, sends)
		})
	}
}

// A delivery that is cancelled during an attempt ends with the status of its row, because the
// attempt may have succeeded. The recorded histories show that the workflow waits for the attempt;
// this environment does not wait.
func TestDeliverNotificationCancelled(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		delay time.Duration // the time in the row, from the start; 0: none
		when  time.Duration // time of the cancellation
		sends []answer
		ends  notification.Status // the status of its row; empty: cancelled outside an attempt
	}{
		{name: "before the start"},
		{name: "before the wait", delay: time.Hour},
		{name: "during the wait", delay: time.Hour, when: time.Minute},
		{name: "during the wait for the second attempt", delay: time.Hour, when: time.Minute},
		{name: "between two attempts", when: 10 * time.Second, sends: []answer{outage}},
		{name: "between two attempts after a delay", delay: time.Hour, when: time.Hour + 10*time.Second, sends: []answer{outage}},
		{name: "during an attempt", ends: notification.Cancelled},
		{name: "during an attempt that succeeds", ends: notification.Sent},
		{name: "during an attempt that is delivered", ends: notification.Delivered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env := deliverInput(notification.Email), newEnv(t)
			if tt.delay != 0 {
				env.row.until = env.Now().Add(tt.delay)
			}
			if tt.ends == "" {
				env.RegisterDelayedCallback(env.CancelWorkflow, tt.when)
				env.answersInTurn(tt.sends...)
			} else {
				env.OnActivity(acts.Send, mock.Anything, mock.Anything).Return(outage.result, outage.err).Once().Run(func(mock.Arguments) {
					env.CancelWorkflow()
				})
			}
			env.cancels(cmp.Or(tt.ends, notification.Cancelled))

			env.ExecuteWorkflow(workflows.DeliverNotification, in)

			env.requireCancelledAs(t, cmp.Or(tt.ends, notification.Cancelled))
		})
	}
}

// A cancellation that comes while a failure is being recorded changes nothing.
func TestDeliverNotificationCancelledDuringTheRecord(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.sends(sendInput(notification.Email), refused)
	env.givesUp(notification.Email, notification.Failed, message(refused.err)).Return(notification.Status(""), panicky.err).Once().Run(func(
		mock.Arguments,
	) {
		env.CancelWorkflow()
	})
	env.givesUp(notification.Email, notification.Failed, message(refused.err)).Return(notification.Failed, nil).Once()

	env.ExecuteWorkflow(workflows.DeliverNotification, deliverInput(notification.Email))

	env.requireEnd(t, workflows.DeliveryFailed, result(notification.Failed, message(refused.err)))
}
