package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// If the window ends in quiet hours, a digest collects until they end, for any number of items.
func TestDigestCollects(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		earlier int             // items that joined in earlier runs
		until   time.Duration   // end of the window from an earlier run; 0: no earlier run
		first   int             // items that join at once
		later   int             // items that join after a minute
		want    time.Duration   // time of the sealing
		quietly []time.Duration // ends of the quiet hours that the sealings find, except the last; from the start
		slow    bool            // the database's clock is slow: by it, quiet hours are not over
	}{
		{name: "one item", first: 1, want: window},
		{name: "window of the first item", first: 1, later: 5, want: window},
		{name: "almost full", first: 1, later: 98, want: window},
		{name: "full", first: 1, later: 99, want: time.Minute},
		{name: "more than full", first: 1, later: 150, want: time.Minute},
		{name: "full at once", first: 100},
		{name: "almost full with items of earlier runs", earlier: 60, first: 1, later: 38, want: window},
		{name: "full with items of earlier runs", earlier: 60, first: 1, later: 39, want: time.Minute},
		{name: "window of an earlier run", until: 2 * time.Minute, want: 2 * time.Minute},
		{name: "no signal", want: window},
		{name: "quiet hours", first: 1, want: window, quietly: hours(8)},
		{name: "quiet hours twice", first: 1, want: window, quietly: hours(8, 32)},
		{name: "quiet hours over by Temporal's clock", first: 1, want: window, quietly: []time.Duration{time.Minute}, slow: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env, all := digestInput(), newEnv(t), items(tt.first+tt.later)
			if in.Joined = tt.earlier; tt.until > 0 {
				in.Until = env.Now().Add(tt.until)
			}
			env.joins(0, all[:tt.first]...)
			env.joins(time.Minute, all[tt.first:]...)
			env.joins(time.Hour, items(150)...)
			want, judged, answers := []time.Duration{tt.want}, []bool{!tt.slow}, []activities.SealResult{sealed(2)}
			for i, end := range tt.quietly {
				want, judged = append(want, max(end, window)), append([]bool{true}, judged...)
				answers = slices.Insert(answers, i, quietUntil(env.Now().Add(end)))
			}
			calls := env.seals(answers...)
			env.sendsDigest(listed(2))
			env.tells(workflows.DigestEnded{Status: notification.Sent}, items(2)...)

			env.ExecuteWorkflow(workflows.Digest, in)

			require.Equal(t, want, calls.at)
			require.Equal(t, judged, calls.judged)
			env.requireOutcome(t, "")
		})
	}
}

func TestDigestEnds(t *testing.T) {
	t.Parallel()

	const unclear, clear = "sendgrid gave no clear answer: 503", "sendgrid refused: 400"
	failedFor := func(reason string) workflows.DigestEnded {
		return workflows.DigestEnded{Status: notification.Failed, Reason: reason}
	}
	tests := []struct {
		name    string
		answers []digestAnswer
		quiet   bool // quiet hours drop the digest when it is sealed
		ended   workflows.DigestEnded
	}{
		{name: "sent", answers: []digestAnswer{listed(3)}, ended: workflows.DigestEnded{Status: notification.Sent}},
		{name: "sent after an outage", answers: []digestAnswer{{err: outage.err}, {err: outage.err}, listed(3)},
			ended: workflows.DigestEnded{Status: notification.Sent}},
		{name: "sent after failures of Herald", answers: []digestAnswer{{err: panicky.err}, {err: panicky.err}, {err: panicky.err}, listed(3)},
			ended: workflows.DigestEnded{Status: notification.Sent}},
		{name: "some items cancelled", answers: []digestAnswer{listed(1)}, ended: workflows.DigestEnded{Status: notification.Sent}},
		{name: "all items cancelled", answers: []digestAnswer{listed(0)}, ended: workflows.DigestEnded{Status: notification.Cancelled}},
		{name: "refused", answers: []digestAnswer{{err: refused.err}}, ended: failedFor(clear)},
		{name: "attempts used up", answers: []digestAnswer{{err: outage.err}, {err: outage.err}, {err: used.err}}, ended: failedFor(unclear)},
		{name: "dropped in quiet hours", quiet: true, ended: workflows.DigestEnded{Status: notification.Cancelled, Reason: "QUIET_HOURS"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, list := newEnv(t), sealed(3)
			list.Quiet = tt.quiet
			env.joins(0, items(3)...)
			env.seals(list)
			env.sendsDigest(tt.answers...)
			if tt.ended.Reason != "" {
				env.givesUpDigest(tt.ended.Status, tt.ended.Reason)
			}
			env.tells(tt.ended, items(3)...)

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireDigest(t, workflows.DigestResult{Status: tt.ended.Status, Reason: tt.ended.Reason, Items: 3})
		})
	}
}

// If the activity could not record a sent digest, the workflow records it before the items get the
// signal, even if the digest is cancelled meanwhile.
func TestDigestRecordsLater(t *testing.T) {
	t.Parallel()

	unrecorded := notification.AttemptResult{
		DigestID: digestID, Items: []notification.ItemAttempt{{DeliveryID: items(1)[0], Attempt: 2}},
		Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "p1",
	}
	for _, cancelled := range []bool{false, true} {
		env := newEnv(t)
		env.joins(0, items(1)...)
		env.seals(sealed(1))
		env.sendsDigest(digestAnswer{result: activities.SendDigestResult{Items: 1, Unrecorded: &unrecorded}})
		var done []string
		env.OnActivity(acts.RecordDigest, mock.Anything, unrecorded).Return(panicky.err).Times(3).Run(func(mock.Arguments) {
			if cancelled {
				env.CancelWorkflow()
			}
		})
		env.OnActivity(acts.RecordDigest, mock.Anything, unrecorded).Return(nil).Once().Run(func(mock.Arguments) {
			done = append(done, "recorded")
		})
		env.OnSignalExternalWorkflow(mock.Anything, items(1)[0], "", digestEnded, workflows.DigestEnded{Status: notification.Sent}).
			Return(nil).Once().Run(func(mock.Arguments) { done = append(done, "told") })

		env.ExecuteWorkflow(workflows.Digest, digestInput())

		require.Equal(t, []string{"recorded", "told"}, done)
		env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
	}
}

// Each item gets its own end, because the rules may drop one item and not another. If the workflow
// of a failed item is gone, the digest records the failure.
func TestDigestSignalsItsItems(t *testing.T) {
	t.Parallel()

	all := items(3)
	dropped := map[string]string{all[1]: notification.NoLongerRecipient}
	left := workflows.DigestEnded{Status: notification.Cancelled, Reason: notification.NoLongerRecipient}
	sent, failed := workflows.DigestEnded{Status: notification.Sent},
		workflows.DigestEnded{Status: notification.Failed, Reason: message(used.err)}
	tests := []struct {
		name   string
		answer digestAnswer
		others workflows.DigestEnded
		second workflows.DigestEnded
		gone   bool // the second item's workflow is gone
	}{
		{name: "sent", answer: digestAnswer{result: activities.SendDigestResult{Items: 2, Dropped: dropped}}, others: sent, second: left},
		{name: "other items cancelled", answer: digestAnswer{result: activities.SendDigestResult{Dropped: dropped}},
			others: workflows.DigestEnded{Status: notification.Cancelled}, second: left},
		{name: "failed", answer: digestAnswer{err: used.err}, others: failed, second: left},
		{name: "sent, one workflow gone", answer: listed(3), others: sent, second: sent, gone: true},
		{name: "failed, one workflow gone", answer: digestAnswer{err: used.err}, others: failed, second: failed, gone: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.seals(sealed(3))
			env.sendsDigest(tt.answer)
			if tt.others == failed {
				input, result := activities.GiveUpDigestInput{
					DigestID: digestID, Channel: digestKey.Channel, Status: failed.Status, Reason: failed.Reason,
				}, activities.GiveUpDigestResult{}
				if tt.second == left {
					result.Dropped = dropped
				}
				env.OnActivity(acts.GiveUpDigest, mock.Anything, input).Return(result, nil).Once()
			}
			env.tells(tt.others, all[0], all[2])
			if tt.gone {
				env.OnSignalExternalWorkflow(mock.Anything, all[1], "", digestEnded, tt.second).Return(errGone).Once()
			} else {
				env.tells(tt.second, all[1])
			}
			if tt.gone && tt.second == failed {
				input := activities.GiveUpInput{DeliveryID: all[1], Channel: notification.Email, Status: failed.Status, Reason: failed.Reason}
				env.OnActivity(acts.GiveUp, mock.Anything, input).Return(notification.Failed, nil).Once()
			}

			env.ExecuteWorkflow(workflows.Digest, digestInput())

			env.requireDigest(t, workflows.DigestResult{Status: tt.others.Status, Reason: tt.others.Reason, Items: 3})
		})
	}
}

// The rules apply to each item when the digest is sent. If quiet hours have begun, the digest waits
// until they end.
func TestDigestJudgesItsItems(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.seals(sealed(2))
	start := env.Now()
	input := activities.SendDigestInput{DigestID: digestID, Key: digestKey, AttemptPolicy: policy(notification.Email).AttemptPolicy}
	env.OnActivity(acts.SendDigest, mock.Anything, input).Return(activities.SendDigestResult{
		NotBefore: start.Add(8 * time.Hour), Wait: "08:00 UTC: quiet hours",
	}, nil).Once()
	env.OnActivity(acts.SendDigest, mock.Anything,
		mock.MatchedBy(func(activities.SendDigestInput) bool { return env.Now().Sub(start) >= 8*time.Hour })).Return(activities.SendDigestResult{
		Items: 1, Dropped: map[string]string{items(2)[1]: "QUIET_HOURS"},
	}, nil).Once()
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(2)[0])
	env.tells(workflows.DigestEnded{Status: notification.Cancelled, Reason: "QUIET_HOURS"}, items(2)[1])

	env.ExecuteWorkflow(workflows.Digest, digestInput())

}

// quietUntil is the answer to a digest that has to wait.
func quietUntil(until time.Time) activities.SealResult {
	return activities.SealResult{NotBefore: until.UTC(), Wait: "08:00 Europe/Rome: quiet hours"}
}

// An unknown time zone fails the items of the digest.
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

// A rescheduled digest is sent at the new time, for any number of items. At that time the digest of
// this test has no items.
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
	env.OnActivity(acts.SealDigest, mock.Anything, mock.Anything).Return(sealed(1), nil).Once().Run(func(mock.Arguments) {
		env.SignalWorkflow(workflows.Reschedule, start.Add(time.Hour).UTC())
	})
	calls := env.sendsDigest(listed(1))
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)

	env.ExecuteWorkflow(workflows.Digest, digestInput())

	env.requireDigest(t, workflows.DigestResult{Status: notification.Sent, Items: 1})
	require.Equal(t, hours(1), calls.at)
}
