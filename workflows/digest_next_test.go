package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// Items that join a digest while it is sent, or do not fit, go into the next run. The next run gets
// the pending signals. Remaining items have joined already, and keep an operator's order: a hundred
// items do not wait for the end of the window, and hastened items do not wait for the end of quiet
// hours.
//
// A digest with a time of day waits for that time, for any number of items. If items join while it
// is sent, the next run reads their due times. The remaining items of a full digest follow at once.
func TestDigestIsContinued(t *testing.T) {
	t.Parallel()

	// end of the window of remaining items; of items that join last; the time of day
	const soon, later, due = 7 * time.Minute, 2 * window, 9 * time.Hour
	newItems := []string{"evt-8-staff10-EMAIL", "evt-9-staff10-EMAIL"}
	tests := []struct {
		name        string
		timed       bool
		earlier     int // items that joined in earlier runs, before the two listed items
		unsignalled int // listed items without a signal
		hastened    bool
		joins       []string      // items that join while it is sent
		left        time.Duration // end of the window of remaining items, from the start; 0: none remain
		fails       bool
		signal      string        // the signal that comes while the items get theirs
		until       time.Duration // end of the next run's window, from the start; 0: no next run
		joined      int           // items that joined, in the input of the next run
		ready       bool          // the next run lists only items that are due
	}{
		{name: "no new items"},
		{name: "listed item joins again", joins: items(1)},
		{name: "one new item", joins: newItems[:1], until: later, joined: 1},
		{name: "several new items", joins: append(items(2), newItems...), until: later, joined: 2},
		{name: "remaining items", left: soon, until: soon},
		{name: "remaining items and a new item", joins: newItems[:1], left: soon, until: soon, joined: 1},
		{name: "failure and a new item", joins: newItems[:1], fails: true, until: later, joined: 1},
		{name: "send now", joins: newItems[:1], signal: workflows.SendNow, until: later, joined: 1},
		{name: "reschedule", joins: newItems[:1], signal: workflows.Reschedule, until: time.Hour, joined: 1},
		{name: "more remaining items than a digest holds", earlier: 228, left: window, until: window, joined: 228},
		{name: "hastened, remaining items", earlier: 1, hastened: true, left: window, until: window, joined: 1},
		{name: "hastened, a signal missing", unsignalled: 1, hastened: true, left: window, until: window},
		{name: "hastened, no remaining items", earlier: 1, hastened: true},
		{name: "time of day", timed: true, earlier: 148},
		{name: "time of day, a new item", timed: true, earlier: 148, joins: newItems[:1], until: due, joined: 1, ready: true},
		{name: "time of day, remaining items due", timed: true, earlier: 148, left: due, until: due, joined: 148, ready: true},
		{name: "time of day, remaining items due later", timed: true, earlier: 148, left: 2 * due, until: 2 * due, joined: 148},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, in, list, answer := newEnv(t), digestInput(), sealed(2), listed(2)
			start, ended := env.Now(), workflows.DigestEnded{Status: notification.Sent}
			in.Joined, in.Hastened = tt.earlier, tt.hastened
			if in.Timed = tt.timed; tt.timed {
				in.Until = start.Add(due)
			}
			if tt.left > 0 {
				list.Next = start.Add(tt.left).UTC()
			}
			env.joins(0, items(2)[tt.unsignalled:]...)
			calls := env.seals(list)
			if tt.fails {
				answer, ended = digestAnswer{err: refused.err}, workflows.DigestEnded{Status: notification.Failed, Reason: message(refused.err)}
				env.givesUpDigest(ended.Status, ended.Reason)
			}
			env.OnActivity(acts.SendDigest, mock.Anything, mock.Anything).Return(answer.result, answer.err).Once().Run(func(mock.Arguments) {
				env.tellsJoined(tt.joins...)
			})
			env.tells(ended, items(1)...)
			env.OnSignalExternalWorkflow(mock.Anything, items(2)[1], "", digestEnded, ended).Return(nil).Once().Run(func(mock.Arguments) {
				if tt.signal != "" {
					env.SignalWorkflow(tt.signal, start.Add(time.Hour).UTC())
				}
			})

			env.ExecuteWorkflow(workflows.Digest, in)

			if tt.timed {
				require.Equal(t, []time.Duration{due}, calls.at)
			}
			if tt.until == 0 {
				env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 2})
				return
			}
			next := digestInput()
			next.Until, next.Joined, next.Timed, next.ReadyOnly = start.Add(tt.until), tt.joined, tt.timed, tt.ready
			next.Hastened = tt.hastened || tt.signal == workflows.SendNow
			if tt.signal == workflows.Reschedule {
				next.Wait = notification.InstantText(next.Until) + ": rescheduled by an operator"
			}
			env.requireNext(t, next)
		})
	}
}

// A digest with a long history continues as new while it collects. It keeps pending signals. Here
// they come while it checks quiet hours.
func TestDigestWithALongHistory(t *testing.T) {
	t.Parallel()

	const words = "08:00 Europe/Rome: quiet hours"
	tests := []struct {
		name    string
		signals func(env *environment, start time.Time)
		next    func(start time.Time, next *workflows.DigestInput)
	}{
		{name: "joins",
			signals: func(env *environment, _ time.Time) { env.tellsJoined(items(3)...) }, next: func(start time.Time, next *workflows.DigestInput) {
				next.Until, next.Wait, next.Joined = start.Add(8*time.Hour), words, 4
			}},
		{name: "reschedule", signals: func(env *environment, start time.Time) {
			env.tellsJoined(items(2)...)
			env.SignalWorkflow(workflows.Reschedule, "tomorrow")
			env.SignalWorkflow(workflows.Reschedule, start.Add(time.Hour).UTC())
		}, next: func(start time.Time, next *workflows.DigestInput) {
			next.Until, next.Joined = start.Add(time.Hour), 3
			next.Wait = notification.InstantText(next.Until) + ": rescheduled by an operator"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			start := env.Now()
			env.joins(0, items(1)...)
			quiet := activities.SealResult{NotBefore: start.Add(8 * time.Hour).UTC(), Wait: words}
			env.OnActivity(acts.SealDigest, mock.Anything, mock.Anything).Return(quiet, nil).Once().Run(func(mock.Arguments) {
				env.SetContinueAsNewSuggested(true)
				tt.signals(env, start)
			})

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			want := digestInput()
			tt.next(start, &want)
			env.requireNext(t, want)
		})
	}
}

// A due digest is sent even if its history is long, because the next run would send it later.
func TestDigestWithALongHistoryThatIsDue(t *testing.T) {
	t.Parallel()

	in, env := digestInput(), newEnv(t)
	in.Hastened = true
	env.SetContinueAsNewSuggested(true)
	calls := env.seals(sealed(1))
	env.sendsDigest(listed(1))
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

	env.ExecuteWorkflow(workflows.Digest, in)

	env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
	require.Equal(t, []bool{false}, calls.judged)
}

var digestCancelled = workflows.DigestEnded{Status: notification.Cancelled, Reason: "digest cancelled"}

// A cancelled digest cancels its items.
func TestDigestCancelled(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		when  time.Duration
		quiet bool // quiet hours at the end of the window
		items int
		sends []digestAnswer
	}{
		{name: "before the start", when: 0, items: 2},
		{name: "while collecting", when: time.Minute, items: 2},
		{name: "without items", when: time.Minute, items: 0},
		{name: "during quiet hours", when: time.Hour, quiet: true, items: 1},
		{name: "between two attempts", when: window + 10*time.Second, items: 2, sends: []digestAnswer{{err: outage.err}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, answers := newEnv(t), []activities.SealResult{sealed(tt.items)}
			if tt.quiet {
				answers = append([]activities.SealResult{quietUntil(env.Now().Add(8 * time.Hour))}, answers...)
			}
			env.RegisterDelayedCallback(env.CancelWorkflow, tt.when)
			env.seals(answers...)
			env.sendsDigest(tt.sends...)
			if tt.items > 0 {
				env.givesUpDigest(digestCancelled.Status, digestCancelled.Reason)
			}
			env.tells(digestCancelled, items(tt.items)...)

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireCancelled(t)
		})
	}
}

// After a cancelled sealing, a second sealing finds the sealed items.
func TestDigestCancelledWhileSealing(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	input := activities.SealInput{DigestID: digestID, Key: digestKey, Window: window, JudgeQuiet: true}
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(sealed(1), nil).Once().Run(func(mock.Arguments) { env.CancelWorkflow() })
	input.JudgeQuiet, input.Unsent = false, true
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(sealed(2), nil).Once()
	env.givesUpDigest(digestCancelled.Status, digestCancelled.Reason)
	env.tells(digestCancelled, items(2)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireCancelled(t)
}

// Cancelling a digest cancels all its items, however many messages they would fill, also the items that
// are not due yet.
func TestDigestCancelledCancelsAllItems(t *testing.T) {
	t.Parallel()

	for _, collecting := range []bool{true, false} {
		env := newEnv(t)
		all := items(230)
		groups := []activities.SealResult{{}, {}, {}}
		for i := range groups {
			groups[i].Items = all[i*100 : min(i*100+100, len(all))]
		}
		groups[0].Next, groups[1].Next = env.Now().Add(3*time.Minute).UTC(), env.Now().Add(4*time.Minute).UTC()
		env.joins(0, all[:50]...)
		env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Minute)
		in := digestInput()
		if collecting {
			in.Until = env.Now().Add(time.Hour)
		} else {
			env.sendsDigest(digestAnswer{
				err: outage.err,
			}, digestAnswer{
				err: outage.err,
			}, digestAnswer{err: temporal.NewApplicationErrorWithOptions("busy", string(notification.Busy),
				temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})})
		}
		env.seals(groups...)
		for range groups {
			env.givesUpDigest(digestCancelled.Status, digestCancelled.Reason)
		}
		env.tells(digestCancelled, all...)

		env.ExecuteWorkflow(workflows.Digest, in)

		env.requireCancelled(t)
	}
}
