package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/notification"
)

func sendWithin(ctx context.Context, db *deliveries, mail activities.Sender, in activities.SendInput) (activities.SendResult, error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	a := &activities.Activities{Deliveries: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
	env.RegisterActivity(a)
	value, err := env.ExecuteActivity(a.Send, in)
	if err != nil {
		return activities.SendResult{}, err
	}
	var result activities.SendResult
	return result, value.Get(&result)
}

// The quiet hours of these tests are the whole day but its last nanosecond, or
// never, so that they hold at any time.
var (
	always = &notification.QuietHours{Start: 0, End: 24*time.Hour - time.Nanosecond}
	never  = &notification.QuietHours{Start: time.Hour, End: time.Hour}
)

// What may not be sent, or not now, is no attempt, and the workflow is told why.
func TestSendHeld(t *testing.T) {
	t.Parallel()

	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	tests := map[notification.Verdict]activities.SendResult{
		{Dropped: notification.WaitQuietHours}:             {Status: notification.Pending, Quiet: true},
		{Dropped: notification.NoLongerRecipient}:          {Status: notification.Pending, Dropped: "no longer a recipient"},
		{Dropped: "USER_DISABLED"}:                         {Status: notification.Pending, Dropped: "USER_DISABLED"},
		{NotBefore: until, Wait: "08:00 UTC: quiet hours"}: {Status: notification.Pending, NotBefore: until, Wait: "08:00 UTC: quiet hours"},
	}
	for verdict, want := range tests {
		db, mail := due(1, 0), &provider{}
		db.attempt.Verdict = verdict
		in := sendInput
		in.JudgeQuiet, in.Ordered = true, true

		result, err := send(t, db, mail, in)

		require.NoError(t, err)
		require.Equal(t, want, result)
		require.Equal(t, notification.Begin{DeliveryID: "d1", JudgeQuiet: true, Ordered: true}, db.asked)
		require.Zero(t, mail.calls)
		require.Zero(t, db.begun)
		require.Empty(t, db.results)
	}
}
