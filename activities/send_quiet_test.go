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

func TestSendJudgesQuietHours(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		judge    bool
		hours    *notification.QuietHours
		action   notification.QuietHoursAction
		channel  notification.Channel
		sent     bool
		dropped  bool
		deferred bool
	}{
		{"not asked to judge", false, always, notification.Drop, notification.Email, true, false, false},
		{"none", true, nil, notification.Drop, notification.Email, true, false, false},
		{"not now", true, never, notification.Drop, notification.Email, true, false, false},
		{"drop", true, always, notification.Drop, notification.Email, false, true, false},
		{"drop, as nothing is said", true, always, "", notification.Email, false, true, false},
		{"defer", true, always, notification.Defer, notification.Email, false, false, true},
		{"defer, but not now", true, never, notification.Defer, notification.Email, true, false, false},
		{"a channel that is never quieted", true, always, notification.Drop, notification.Slack, true, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, mail := due(1, 0), &provider{}
			db.quiet = notification.QuietCheck{Action: tt.action, Timezone: "Europe/Rome", Preference: notification.Preference{Channel: tt.channel, QuietHours: tt.hours}}
			in := sendInput
			in.JudgeQuiet = tt.judge

			result, err := send(t, db, mail, in)

			require.NoError(t, err)
			require.Equal(t, tt.sent, mail.calls == 1)
			require.Equal(t, tt.sent, db.begun == 1, "a quiet attempt is not counted")
			require.Equal(t, tt.dropped, result.Quiet)
			require.Equal(t, tt.deferred, !result.NotBefore.IsZero())
			if !tt.sent {
				require.Equal(t, notification.Pending, result.Status)
			}
			if tt.deferred {
				require.Equal(t, time.UTC, result.NotBefore.Location())
			}
		})
	}
}

// A zone that nobody knows is UTC: it costs no message.
func TestSendJudgesInAnUnknownZone(t *testing.T) {
	t.Parallel()

	in := sendInput
	in.JudgeQuiet = true
	for hours, calls := range map[*notification.QuietHours]int{always: 0, never: 1} {
		db, mail := due(1, 0), &provider{}
		db.quiet = notification.QuietCheck{Timezone: "Europe/Atlantis", Preference: notification.Preference{Channel: notification.Email, QuietHours: hours}}
		_, err := send(t, db, mail, in)
		require.NoError(t, err)
		require.Equal(t, calls, mail.calls)
	}
}
