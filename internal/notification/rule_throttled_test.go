package notification_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestThrottled(t *testing.T) {
	t.Parallel()

	const throttled, selected = notification.DecisionThrottled, notification.DecisionSelected
	last := func(key string, before time.Duration) notification.Throttle {
		return notification.Throttle{
			ThrottleKey: notification.ThrottleKey{Channel: notification.Email, Key: key}, DeliveryID: "evt-0-staff1-EMAIL", At: noon.Add(-before),
		}
	}
	own := last("", time.Minute)
	own.DeliveryID = "evt-1-staff1-EMAIL"
	other := last("", time.Minute)
	other.Channel = notification.SMS
	tests := []struct {
		name   string
		window time.Duration
		path   string
		last   []notification.Throttle
		off    bool // the recipient switched the channel off
		want   notification.Decision
		finds  string
	}{
		{name: "no window", last: []notification.Throttle{last("", 0)}, want: selected, finds: "none"},
		{name: "the first", window: time.Hour, want: selected, finds: "no other event within 1h0m0s"},
		{name: "within the window", window: time.Hour, last: []notification.Throttle{last("", time.Hour-1)}, want: throttled,
			finds: "evt-0-staff1-EMAIL was planned within 1h0m0s"},
		{name: "the window is over", window: time.Hour, last: []notification.Throttle{last("", time.Hour)}, want: selected},
		{name: "planned after this reading of the clock", window: time.Hour, last: []notification.Throttle{last("", -time.Second)},
			want: throttled},
		{name: "this delivery, planned before", window: time.Hour, last: []notification.Throttle{own}, want: selected},
		{name: "over another channel", window: time.Hour, last: []notification.Throttle{other}, want: selected},
		{name: "another key", window: time.Hour, path: "sensor", last: []notification.Throttle{last("", time.Minute)}, want: selected},
		{name: "the same key", window: time.Hour, path: "nowhere, sensor",
			last: []notification.Throttle{last("7902699be42c8a8e46fbbb4501726517", time.Minute)}, want: throttled},
		{name: "no key in the payload", window: time.Hour, path: "nowhere", last: []notification.Throttle{last("", time.Minute)},
			want: throttled},
		{name: "within the window, with the channel off", window: time.Hour, last: []notification.Throttle{last("", time.Minute)}, off: true,
			want: notification.DecisionUserDisabled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.Email, supported: true, userOff: tt.off}
			setup, recipient := s.rules(), s.recipient()
			setup.Event.ID, setup.Event.Payload = "evt-1", json.RawMessage(`{"sensor": 7}`)
			setup.Routing[0].ThrottleWindow, setup.Routing[0].ThrottleKeyPath = tt.window, tt.path
			setup.ReadPayload()
			recipient.Who, recipient.Throttles = "staff", tt.last

			facts := setup.Facts(recipient, notification.Email, noon, notification.Used{})
			choice := facts.Choice()

			require.Equal(t, tt.want, choice.Decision)
			require.Equal(t, tt.want == throttled, choice.ThrottledBy == "evt-0-staff1-EMAIL")
			findings := facts.Findings()
			require.Contains(t, findings[len(findings)-3].Fact, tt.finds)
			require.Equal(t, tt.window > 0, len(setup.ThrottleKeys([]notification.Recipient{recipient})) == 1)
		})
	}
}
