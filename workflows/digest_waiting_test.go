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

// quietUntil is the answer to a digest that has to wait.
func quietUntil(until time.Time) activities.SealResult {
	return activities.SealResult{NotBefore: until.UTC(), Wait: "08:00 Europe/Rome: quiet hours"}
}

// Where the recipient wants quiet when the window ends, a digest goes on
// collecting until that is over, however many join.
func TestDigestInQuietHours(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		quietly []time.Duration // from the start: the ends of the quiet hours that each sealing but the last one meets
		want    []time.Duration // from the start: when it was to be sealed
		judged  []bool
	}{
		{"none", nil, []time.Duration{window}, []bool{true}},
		{"deferred", hours(8), []time.Duration{window, 8 * time.Hour}, []bool{true, true}},
		{"deferred again and again", hours(8, 32), []time.Duration{window, 8 * time.Hour, 32 * time.Hour}, []bool{true, true, true}},
		{"over by the server's clock", []time.Duration{time.Minute}, []time.Duration{window, window}, []bool{true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			start, answers := env.Now(), []activities.SealResult{}
			for _, end := range tt.quietly {
				answers = append(answers, quietUntil(start.Add(end)))
			}
			env.joins(0, items(1)...)
			env.joins(time.Hour, items(150)...)
			calls := env.seals(append(answers, sealed(1))...)
			env.sendsDigest(listed(1))
			env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
			require.Equal(t, tt.want, calls.at)
			require.Equal(t, tt.judged, calls.judged)
			env.AssertExpectations(t)
		})
	}
}

func TestDigestDroppedForQuietHours(t *testing.T) {
	t.Parallel()

	env, ended := newEnv(t), workflows.DigestEnded{Status: notification.Cancelled, Reason: "quiet hours"}
	dropped := sealed(2)
	dropped.Quiet = true
	env.joins(0, items(2)...)
	env.seals(dropped)
	env.givesUpDigest(ended.Status, ended.Reason)
	env.tells(ended, items(2)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: ended.Status, Reason: ended.Reason, Items: 2})
	env.requireOutcome(t, "CANCELLED")
	env.AssertExpectations(t)
}

// A zone that nobody knows fails what the digest would have listed.
func TestDigestThatCannotBeJudged(t *testing.T) {
	t.Parallel()

	env, ended := newEnv(t), workflows.DigestEnded{Status: notification.Failed, Reason: message(noText.err)}
	input := activities.SealInput{DigestID: digestID, Key: digestKey, Window: window, JudgeQuiet: true}
	env.joins(0, items(1)...)
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(activities.SealResult{}, noText.err).Once()
	input.JudgeQuiet = false
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(sealed(1), nil).Once()
	env.givesUpDigest(ended.Status, ended.Reason)
	env.tells(ended, items(1)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: ended.Status, Reason: ended.Reason, Items: 1})
	env.requireOutcome(t, "FAILED")
	env.AssertExpectations(t)
}

// An operator's signal to a digest that collects, comes after a minute; to one
// that waits for quiet hours to end, after an hour.
func TestDigestSignals(t *testing.T) {
	t.Parallel()

	const collecting, quiet = time.Minute, time.Hour
	in := func(d time.Duration) func(time.Time) any {
		return func(start time.Time) any { return start.Add(d).UTC() }
	}
	nothing := func(time.Time) any { return nil }
	wrong := func(time.Time) any { return "tomorrow" }
	tests := []struct {
		name   string
		when   time.Duration
		signal string
		arg    func(start time.Time) any
		want   time.Duration // when it was sealed for good
		judged bool
	}{
		{"send now", collecting, workflows.SendNow, nothing, collecting, false},
		{"send now, with an argument", collecting, workflows.SendNow, wrong, collecting, false},
		{"earlier", collecting, workflows.Reschedule, in(2 * time.Minute), 2 * time.Minute, true},
		{"later", collecting, workflows.Reschedule, in(20 * time.Hour), 20 * time.Hour, true},
		{"past", collecting, workflows.Reschedule, in(-time.Hour), collecting, true},
		{"not a time", collecting, workflows.Reschedule, wrong, window, true},
		{"nothing", collecting, workflows.Reschedule, nothing, window, true},
		{"not for us", collecting, "hurry", nothing, window, true},
		{"send now in quiet hours", quiet, workflows.SendNow, nothing, quiet, false},
		{"earlier in quiet hours", quiet, workflows.Reschedule, in(2 * time.Hour), 2 * time.Hour, true},
		{"later in quiet hours", quiet, workflows.Reschedule, in(20 * time.Hour), 20 * time.Hour, true},
		{"not a time in quiet hours", quiet, workflows.Reschedule, wrong, 8 * time.Hour, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			start := env.Now()
			answers := []activities.SealResult{sealed(1)}
			if tt.when == quiet {
				answers = append([]activities.SealResult{quietUntil(start.Add(8 * time.Hour))}, answers...)
			}
			env.joins(0, items(1)...)
			env.signals(tt.when, tt.signal, tt.arg(start))
			calls := env.seals(answers...)
			env.sendsDigest(listed(1))
			env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
			last := len(calls.at) - 1
			require.Equal(t, tt.want, calls.at[last])
			require.Equal(t, tt.judged, calls.judged[last])
			env.AssertExpectations(t)
		})
	}
}

// A digest that was rescheduled has the time that it was given, full or not.
func TestDigestRescheduledIsNeverFull(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.joins(0, items(1)...)
	env.signals(time.Minute, workflows.Reschedule, env.Now().Add(time.Hour).UTC())
	env.joins(2*time.Minute, items(150)...)
	calls := env.seals(sealed(0))

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{})
	require.Equal(t, hours(1), calls.at)
}

// Between two attempts an operator may send a digest now, or put it off. The
// first attempt fails after the window, the policy repeats it after 30 seconds.
func TestDigestSignalsBetweenAttempts(t *testing.T) {
	t.Parallel()

	const signalled = window + 10*time.Second
	tests := []struct {
		name   string
		signal string
		arg    func(start time.Time) any
		want   time.Duration // when the second attempt was made
	}{
		{"send now", workflows.SendNow, func(time.Time) any { return nil }, signalled},
		{"later", workflows.Reschedule, func(start time.Time) any { return start.Add(2 * time.Hour).UTC() }, 2 * time.Hour},
		{"past", workflows.Reschedule, func(start time.Time) any { return start.UTC() }, signalled},
		{"not a time", workflows.Reschedule, func(time.Time) any { return "tomorrow" }, window + 30*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.joins(0, items(1)...)
			env.signals(signalled, tt.signal, tt.arg(env.Now()))
			env.seals(sealed(1))
			calls := env.sendsDigest(digestAnswer{err: outage.err}, listed(1))
			env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
			require.Equal(t, []time.Duration{window, tt.want}, calls.at)
			env.AssertExpectations(t)
		})
	}
}

// A signal that comes while the digest is being sealed is not lost.
func TestDigestSignalWhileSealing(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start := env.Now()
	env.joins(0, items(1)...)
	env.OnActivity(acts.SealDigest, mock.Anything, mock.Anything).Return(func(context.Context, activities.SealInput) (activities.SealResult, error) {
		env.SignalWorkflow(workflows.Reschedule, start.Add(time.Hour).UTC())
		return sealed(1), nil
	}).Once()
	calls := env.sendsDigest(listed(1))
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
	require.Equal(t, hours(1), calls.at)
	env.AssertExpectations(t)
}
