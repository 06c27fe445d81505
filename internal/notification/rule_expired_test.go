package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestExpired(t *testing.T) {
	t.Parallel()

	const expired, selected = notification.DecisionExpired, notification.DecisionSelected
	tests := []struct {
		name    string
		after   time.Duration
		at      time.Time
		want    notification.Decision
		expires time.Time
		finds   string
	}{
		{name: "no limit", want: selected, finds: "it never expires"},
		{name: "not yet", after: time.Hour + 1, want: selected, expires: noon.Add(1), finds: "it expires at"},
		{name: "at that instant", after: time.Hour, want: expired, expires: noon, finds: "it expired at"},
		{name: "long ago", after: time.Minute, want: expired, expires: noon.Add(-59 * time.Minute)},
		{name: "the event's time", at: noon, want: expired, expires: noon},
		{name: "the event's time is earlier", after: 2 * time.Hour, at: noon.Add(-time.Second), want: expired, expires: noon.Add(-time.Second)},
		{name: "the channel's time is earlier", after: time.Hour, at: noon.Add(time.Hour), want: expired, expires: noon},
		{name: "neither is over", after: 3 * time.Hour, at: noon.Add(time.Hour), want: selected, expires: noon.Add(time.Hour)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			setup := situation{channel: notification.Email, supported: true}.rules()
			setup.Event.CreatedAt, setup.Event.ExpiresAt = noon.Add(-time.Hour), tt.at
			setup.Routing[0].ExpiresAfter = tt.after
			recipient := situation{channel: notification.Email}.recipient()

			facts := setup.Facts(recipient, notification.Email, noon, notification.Used{})
			choice := facts.Choice()

			require.Equal(t, tt.want, choice.Decision)
			require.Contains(t, facts.Findings()[0].Fact, tt.finds)
			if tt.want == selected {
				require.Equal(t, tt.expires, choice.ExpiresAt)
			}
			for _, ordered := range []bool{false, true} {
				check := notification.AttemptCheck{
					Known: true, Active: true, Member: true, Channel: notification.Email, Setup: setup, Recipient: recipient, ExpiresAt: tt.expires,
					Ordered: ordered,
				}
				require.Equal(t, tt.want == expired, check.Evaluate(noon).Dropped == string(expired), "an attempt decides the same")
			}
		})
	}
	require.Empty(t, notification.DroppedRemedy(string(expired), notification.Email), "a retry with --again sends it")
}

func TestTimeLeft(t *testing.T) {
	t.Parallel()

	_, expires := notification.Message{}.TimeLeft(time.Hour)
	require.False(t, expires)
	require.False(t, notification.Message{}.Expired())
	for left, want := range map[time.Duration]time.Duration{-time.Minute: 0, time.Hour: time.Minute} {
		message := notification.Message{SendBy: time.Now().Add(left)}
		got, expires := message.TimeLeft(time.Minute)
		require.True(t, expires)
		require.Equal(t, want, got)
		require.Equal(t, left < 0, message.Expired())
	}
}
