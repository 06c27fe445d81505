package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The first recipient who gets the message holds the address.
func TestSameAddress(t *testing.T) {
	t.Parallel()

	const same, selected = notification.DecisionSameAddress, notification.DecisionSelected
	for name, tt := range map[string]struct {
		off       bool
		first     situation
		throttled bool
		hash      string // of the second
		want      notification.Decision
		finds     string
	}{
		"off":                     {off: true, hash: "a", want: selected, finds: "not compared"},
		"another address":         {hash: "b", want: selected, finds: "nobody with the same address came before them"},
		"the same":                {hash: "a", want: same, finds: "RESTAURANT_USER/1 has the same address, and came before them"},
		"the first wants nothing": {first: situation{userOff: true}, hash: "a", want: selected, finds: "nobody"},
		"the first gets no more":  {throttled: true, hash: "a", want: selected, finds: "nobody"},
		"no address":              {want: selected, finds: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.first.channel, tt.first.supported = notification.Slack, true
			setup, first, second := tt.first.rules(), tt.first.recipient(), situation{channel: notification.Slack}.recipient()
			setup.Event.ID, setup.Settings, setup.Holders = "evt-1", nil, notification.AddressHolders{}
			setup.Routing[0].OncePerAddress = !tt.off
			first.Who, second.Who, second.UserID = "staff", "staff", "2"
			first.AddressHashes = map[notification.Channel]string{notification.Slack: "a"}
			second.AddressHashes = map[notification.Channel]string{notification.Slack: tt.hash}
			if tt.throttled {
				setup.Routing[0].ThrottleWindow = time.Hour
				first.Throttles = []notification.Throttle{
					{ThrottleKey: notification.ThrottleKey{Channel: notification.Slack}, DeliveryID: "evt-0-staff1-SLACK", At: noon},
				}
			}
			for range 2 { // a repeat decides the same
				setup.Decide(first, noon, notification.Used{})
			}

			findings := setup.Facts(second, notification.Slack, noon, nil).Findings()
			require.Contains(t, findings[len(findings)-1].Fact, tt.finds)
			require.Equal(t, tt.want, setup.Decide(second, noon, notification.Used{})[0].Decision)
		})
	}
}
