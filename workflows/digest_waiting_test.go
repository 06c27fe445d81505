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
		{name: "none", want: []time.Duration{window}, judged: []bool{true}},
		{name: "deferred", quietly: hours(8), want: []time.Duration{window, 8 * time.Hour}, judged: []bool{true, true}},
		{name: "deferred again and again", quietly: hours(8, 32), want: []time.Duration{window, 8 * time.Hour, 32 * time.Hour}, judged: []bool{true, true, true}},
		{name: "over by the server's clock", quietly: []time.Duration{time.Minute}, want: []time.Duration{window, window}, judged: []bool{true, false}},
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
}

// A digest that was rescheduled is sent at that time, however many join. This one has
// nothing left to list by then.
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
}
