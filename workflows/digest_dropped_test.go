package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// Each item is told its own end, since the rules may drop one and not another.
func TestDigestTellsItsItemsApart(t *testing.T) {
	t.Parallel()

	dropped := map[string]string{items(3)[1]: "no longer a recipient"}
	left := workflows.DigestEnded{Status: notification.Cancelled, Reason: "no longer a recipient"}
	tests := []struct {
		name   string
		answer digestAnswer
		gaveUp bool
		others workflows.DigestEnded
	}{
		{name: "sent", answer: digestAnswer{result: activities.SendDigestResult{Items: 2, Dropped: dropped}}, others: workflows.DigestEnded{Status: notification.Sent}},
		{name: "the others were cancelled", answer: digestAnswer{result: activities.SendDigestResult{Dropped: dropped}}, others: workflows.DigestEnded{Status: notification.Cancelled}},
		{name: "failed", answer: digestAnswer{err: used.err}, gaveUp: true, others: workflows.DigestEnded{Status: notification.Failed, Reason: message(used.err)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.seals(sealed(3))
			env.sendsDigest(tt.answer)
			if tt.gaveUp {
				input := activities.GiveUpDigestInput{DigestID: digestID, Channel: digestKey.Channel, Status: tt.others.Status, Reason: tt.others.Reason}
				env.OnActivity(acts.GiveUpDigest, mock.Anything, input).Return(activities.GiveUpDigestResult{Dropped: dropped}, nil).Once()
			}
			env.tells(tt.others, items(3)[0], items(3)[2])
			env.tells(left, items(3)[1])

			env.ExecuteWorkflow(workflows.Digest, digestInput())

		})
	}
}

// The items are judged one by one when the digest is sent. Where quiet hours have begun, it
// waits for their end, and is sent then.
func TestDigestJudgesItsItems(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.seals(sealed(2))
	start := env.Now()
	input := activities.SendDigestInput{DigestID: digestID, Key: digestKey, AttemptPolicy: policy(notification.Email).AttemptPolicy}
	env.OnActivity(acts.SendDigest, mock.Anything, input).Return(activities.SendDigestResult{NotBefore: start.Add(8 * time.Hour), Wait: "08:00 UTC: quiet hours"}, nil).Once()
	env.OnActivity(acts.SendDigest, mock.Anything, mock.MatchedBy(func(activities.SendDigestInput) bool { return env.Now().Sub(start) >= 8*time.Hour })).Return(activities.SendDigestResult{Items: 1, Dropped: map[string]string{items(2)[1]: "quiet hours"}}, nil).Once()
	env.tells(workflows.DigestEnded{Status: notification.Sent}, items(2)[0])
	env.tells(workflows.DigestEnded{Status: notification.Cancelled, Reason: "quiet hours"}, items(2)[1])

	env.ExecuteWorkflow(workflows.Digest, digestInput())

}
