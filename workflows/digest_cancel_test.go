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

var digestCancelled = workflows.DigestEnded{Status: notification.Cancelled, Reason: "digest cancelled"}

// Cancelled, a digest cancels what it would have listed.
func TestDigestCancelled(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		when  time.Duration
		quiet bool // when the window ends
		items int
		sends []digestAnswer
	}{
		{name: "before it began", when: 0, items: 2},
		{name: "while it collects", when: time.Minute, items: 2},
		{name: "with nothing to list", when: time.Minute, items: 0},
		{name: "while it waits for quiet hours to end", when: time.Hour, quiet: true, items: 1},
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

// A second sealing finds what a cancelled one has sealed.
func TestDigestCancelledWhileSealing(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	input := activities.SealInput{DigestID: digestID, Key: digestKey, Window: window, JudgeQuiet: true}
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(func(context.Context, activities.SealInput) (activities.SealResult, error) {
		env.CancelWorkflow()
		return sealed(1), nil
	}).Once()
	input.JudgeQuiet = false
	env.OnActivity(acts.SealDigest, mock.Anything, input).Return(sealed(2), nil).Once()
	env.givesUpDigest(digestCancelled.Status, digestCancelled.Reason)
	env.tells(digestCancelled, items(2)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireCancelled(t)
}

// What did not fit into a cancelled digest is not cancelled with it.
func TestDigestCancelledWithSomethingLeft(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	start, full := env.Now(), sealed(100)
	full.Next = start.Add(3 * time.Minute).UTC()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.seals(full)
	env.givesUpDigest(digestCancelled.Status, digestCancelled.Reason)
	env.tells(digestCancelled, items(100)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	next := digestInput()
	next.Until = start.Add(3 * time.Minute)
	env.requireNext(t, next)
}

// A cancellation that comes when the provider has accepted the message changes
// nothing.
func TestDigestCancelledTooLate(t *testing.T) {
	t.Parallel()

	unrecorded := notification.AttemptResult{DigestID: digestID, Outcome: notification.OutcomeSent}
	env := newEnv(t)
	env.seals(sealed(1))
	env.sendsDigest(digestAnswer{result: activities.SendDigestResult{Items: 1, Unrecorded: &unrecorded}})
	env.OnActivity(acts.RecordDigest, mock.Anything, unrecorded).Return(func(context.Context, notification.AttemptResult) error {
		env.CancelWorkflow()
		return panicky.err
	}).Once()
	env.OnActivity(acts.RecordDigest, mock.Anything, unrecorded).Return(nil).Once()
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
}
