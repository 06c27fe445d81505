package notification_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// capOracle counts, for each second, the messages of each window that begins there.
func capOracle(limit notification.Cap, counted []notification.CountedMessage, category string, at time.Time) bool {
	if limit.Category != "" && limit.Category != category {
		return true
	}
	times := []time.Time{at}
	for _, message := range counted {
		if limit.Category == "" || limit.Category == message.Category {
			times = append(times, message.At)
			if limit.Spacing > 0 && message.At.Sub(at).Abs() < limit.Spacing {
				return false
			}
		}
	}
	for begin := at.Add(time.Second - limit.Per); limit.AtMost > 0 && !begin.After(at); begin = begin.Add(time.Second) {
		within := 0
		for _, t := range times {
			if !t.Before(begin) && t.Before(begin.Add(limit.Per)) {
				within++
			}
		}
		if within > limit.AtMost {
			return false
		}
	}
	return true
}

func TestRoom(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a test
	outcomes := map[string]int{}
	for range 3000 {
		var caps notification.Caps
		for _, category := range []string{"", "offers"} {
			limit := notification.Cap{Channel: notification.SMS, Category: category, Defers: random.IntN(2) == 0}
			if random.IntN(4) > 0 {
				limit.AtMost, limit.Per = 1+random.IntN(3), time.Duration(1+random.IntN(20))*time.Second
			}
			if limit.AtMost == 0 || random.IntN(2) == 0 {
				limit.Spacing = time.Duration(1+random.IntN(9)) * time.Second
			}
			if random.IntN(4) > 0 {
				caps = append(caps, limit)
			}
		}
		var counted []notification.CountedMessage
		for range random.IntN(10) {
			counted = append(counted, notification.CountedMessage{
				Category: []string{"", "offers"}[random.IntN(2)], At: noon.Add(time.Duration(random.IntN(40)-20) * time.Second),
			})
		}
		category := []string{"", "offers", "news"}[random.IntN(3)]
		fits := func(at time.Time) func(notification.Cap) bool {
			return func(c notification.Cap) bool { return !capOracle(c, counted, category, at) }
		}

		room := caps.Room(counted, category, noon)

		dropped := slices.ContainsFunc(caps, func(c notification.Cap) bool { return !c.Defers && fits(noon)(c) })
		require.Equal(t, dropped, room.Dropped)
		switch {
		case dropped:
			outcomes["dropped"]++
		case !slices.ContainsFunc(caps, fits(noon)):
			require.Zero(t, room)
			outcomes["room"]++
		default:
			at := noon
			for slices.ContainsFunc(caps, fits(at)) {
				at = at.Add(time.Second)
			}
			require.Equal(t, at, room.At)
			outcomes["waits"]++
		}
	}
	require.Len(t, outcomes, 3)
}

func TestCapped(t *testing.T) {
	t.Parallel()

	cap3 := notification.Cap{Channel: notification.Email, AtMost: 1, Per: time.Hour}
	defers, other := cap3, cap3
	defers.Defers, other.Channel = true, notification.SMS
	sent := notification.CountedMessage{Channel: notification.Email, MessageID: "evt-0-staff1-EMAIL", At: noon.Add(-time.Minute)}
	own := sent
	own.MessageID = "evt-1-staff1-EMAIL"
	tests := []struct {
		name      string
		caps      notification.Caps
		counted   notification.CountedMessage
		mandatory bool
		want      notification.Decision
		finds     string
	}{
		{name: "no cap", counted: sent, want: notification.DecisionSelected, finds: "none"},
		{name: "full", caps: notification.Caps{cap3}, counted: sent, want: notification.DecisionCapped,
			finds: "at most 1 in 1h0m0s: there is no room"},
		{name: "mandatory", caps: notification.Caps{cap3}, counted: sent, mandatory: true, want: notification.DecisionSelected,
			finds: "mandatory"},
		{name: "full, with DEFER", caps: notification.Caps{defers}, counted: sent, want: notification.DecisionSelected,
			finds: "there is room at 12:59"},
		{name: "a cap of another channel", caps: notification.Caps{other}, counted: sent, want: notification.DecisionSelected, finds: "none"},
		{name: "only this delivery counted", caps: notification.Caps{cap3}, counted: own, want: notification.DecisionSelected,
			finds: "there is room"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.Email, supported: true, mandatory: tt.mandatory}
			setup, recipient := s.rules(), s.recipient()
			setup.Event.ID, setup.Caps = "evt-1", tt.caps
			recipient.Who, recipient.Counted = "staff", []notification.CountedMessage{tt.counted}

			facts := setup.Facts(recipient, notification.Email, noon, notification.Used{})

			require.Equal(t, tt.want, facts.Decision())
			findings := facts.Findings()
			require.Contains(t, findings[len(findings)-2].Fact, tt.finds)
		})
	}
}
