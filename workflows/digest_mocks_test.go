package workflows_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// The signals between a digest and its items, as histories name them.
const (
	join        = "join"
	digestEnded = "digest-ended"
)

const (
	window   = 5 * time.Minute
	digestID = "digest-" // the test environment knows no original run
)

var digestKey = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}

// errGone is what signalling a workflow brings that does not run.
var errGone = errors.New("unknown external workflow execution")

func digestInput() workflows.DigestInput {
	return workflows.DigestInput{Key: digestKey, Window: window, Policy: policy(notification.Email)}
}

// items are the delivery ids of n events.
func items(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = notification.DeliveryID("evt-"+strconv.Itoa(i+1), "staff", digestKey.UserID, digestKey.Channel)
	}
	return ids
}

// sealed is what a digest lists: as many items, and nothing was left.
func sealed(n int) activities.SealResult {
	return activities.SealResult{SealedDigest: notification.SealedDigest{Items: items(n)}}
}

// joins tells the digest of items, at a time after its start.
func (e *environment) joins(at time.Duration, ids ...string) {
	e.RegisterDelayedCallback(func() { e.tellsJoined(ids...) }, at)
}

func (e *environment) tellsJoined(ids ...string) {
	for _, id := range ids {
		e.SignalWorkflow(join, id)
	}
}

// signals sends a signal, at a time after the start.
func (e *environment) signals(at time.Duration, name string, argument any) {
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(name, argument) }, at)
}

// seals answers each call of SealDigest in turn, and notes when it was called
// and whether it was to judge quiet hours.
func (e *environment) seals(answers ...activities.SealResult) *sendCalls {
	calls, start := &sendCalls{}, e.Now()
	input := mock.MatchedBy(func(in activities.SealInput) bool {
		return in.DigestID == digestID && in.Key == digestKey && in.Window == window
	})
	e.OnActivity(acts.SealDigest, mock.Anything, input).Return(func(_ context.Context, in activities.SealInput) (activities.SealResult, error) {
		calls.at, calls.judged = append(calls.at, e.Now().Sub(start)), append(calls.judged, in.JudgeQuiet)
		return answers[len(calls.at)-1], nil
	}).Times(len(answers))
	return calls
}

// digestAnswer is what one call of SendDigest returns.
type digestAnswer struct {
	result activities.SendDigestResult
	err    error
}

func listed(n int) digestAnswer {
	return digestAnswer{result: activities.SendDigestResult{Items: n}}
}

// sendsDigest answers each call of SendDigest in turn, and notes when it was.
func (e *environment) sendsDigest(answers ...digestAnswer) *sendCalls {
	calls, start := &sendCalls{}, e.Now()
	if len(answers) == 0 {
		return calls
	}
	input := activities.SendDigestInput{DigestID: digestID, Key: digestKey, AttemptPolicy: policy(notification.Email).AttemptPolicy}
	ours := mock.MatchedBy(func(in activities.SendDigestInput) bool {
		in.SkipQuiet = false
		return in == input
	})
	e.OnActivity(acts.SendDigest, mock.Anything, ours).Return(func(_ context.Context, in activities.SendDigestInput) (activities.SendDigestResult, error) {
		calls.at, calls.judged = append(calls.at, e.Now().Sub(start)), append(calls.judged, !in.SkipQuiet)
		now := answers[len(calls.at)-1]
		return now.result, now.err
	}).Times(len(answers))
	return calls
}

// tells expects that each item is told how the digest ended.
func (e *environment) tells(ended workflows.DigestEnded, ids ...string) {
	for _, id := range ids {
		e.OnSignalExternalWorkflow(mock.Anything, id, "", digestEnded, ended).Return(nil).Once()
	}
}

// givesUpDigest expects that the end of what was sealed is recorded.
func (e *environment) givesUpDigest(status notification.Status, reason string) {
	input := activities.GiveUpDigestInput{DigestID: digestID, Channel: digestKey.Channel, Status: status, Reason: reason}
	e.OnActivity(acts.GiveUpDigest, mock.Anything, input).Return(activities.GiveUpDigestResult{}, nil).Once()
}

// requireDigest checks the result of a digest that completed.
func (e *environment) requireDigest(t *testing.T, want workflows.DigestResult) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	var got workflows.DigestResult
	require.NoError(t, e.GetWorkflowResult(&got))
	require.Equal(t, want, got)
	e.requireOutcome(t, outcome(want.Status))
}

// requireNext checks what a digest hands to its next run, on the clock of the first.
func (e *environment) requireNext(t *testing.T, want workflows.DigestInput) {
	t.Helper()
	got := nextRun[workflows.DigestInput](t, e, digestWorkflow)
	require.True(t, want.Until.Equal(got.Until), "until %s, not %s", got.Until, want.Until)
	got.Until = want.Until
	require.Equal(t, want, got)
	e.requireOutcome(t, "")
}
