package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// waited returns the situation after a wait. Only planning checks max_recipients.
func (s situation) waited() notification.AttemptCheck {
	return notification.AttemptCheck{
		DeliveryID: "d", Known: true, Active: true, Member: true,
		Channel: s.channel, Setup: s.rules(), Recipient: s.recipient(), ExpiresAt: s.rules().Event.ExpiresAt,
	}
}

// After a wait, the rules that planned a delivery decide again.
func TestJudgeEverySituation(t *testing.T) {
	t.Parallel()

	for _, s := range situations() {
		if s.full {
			continue
		}
		w := s.waited()
		want := s.want()
		got := w.Evaluate(noon)
		switch want {
		case notification.DecisionSelected:
			require.Empty(t, got.Dropped, "%+v", s)
			require.Equal(t, s.quiet && s.channel.Quieted(), !got.NotBefore.IsZero(), "%+v", s)
		default:
			require.Equal(t, notification.Verdict{Dropped: string(want)}, got)
		}

		w.SkipQuiet, s.quiet = true, false
		if want = s.want(); want == notification.DecisionSelected {
			require.Equal(t, notification.Verdict{}, w.Evaluate(noon), "%+v", s)
		} else {
			require.Equal(t, notification.Verdict{Dropped: string(want)}, w.Evaluate(noon), "%+v", s)
		}

		w.Ordered, w.SkipQuiet = true, false
		missing := s.expired || s.suppressed || (s.noAddress && s.channel != notification.WebSocket)
		require.Equal(t, missing, w.Evaluate(noon).Held(), "%+v", s)
		for _, left := range []func(*notification.AttemptCheck){
			func(w *notification.AttemptCheck) { w.Known = false },
			func(w *notification.AttemptCheck) { w.Active = false },
		} {
			gone := w
			left(&gone)
			require.Equal(t, notification.Verdict{Dropped: notification.NoLongerRecipient}, gone.Evaluate(noon))
		}
		w.Member = false
		require.Equal(t, missing, w.Evaluate(noon).Held(), "an operator's order ignores membership")
		w.Ordered = false
		require.Equal(t, notification.Verdict{Dropped: notification.NoLongerRecipient}, w.Evaluate(noon))
	}
}

// A delay that has passed does not start again.
func TestJudgeAfterADelay(t *testing.T) {
	t.Parallel()

	s := situation{channel: notification.Email, supported: true}
	w := s.waited()
	w.Setup.Routing[0].Strategy, w.Setup.Routing[0].Delay = notification.Delayed, time.Hour
	require.Equal(t, notification.Verdict{}, w.Evaluate(noon))

	w.Setup.Routing = nil
	require.Equal(t, notification.Verdict{}, w.Evaluate(noon), "a planned delivery does not need its route")
}

// Every reason to drop a delivery has a text for people.
func TestDroppedMeaning(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{notification.NoLongerRecipient: true}
	for _, s := range situations() {
		seen[s.waited().Evaluate(noon).Dropped] = true
	}
	delete(seen, "")
	require.Len(t, seen, 10)
	for reason := range seen {
		require.NotEmpty(t, notification.DroppedMeaning(reason, notification.Email, notification.Customer), reason)
	}
	for _, other := range []string{"", "cancelled", "SELECTED", "MAX_RECIPIENTS"} {
		require.Empty(t, notification.DroppedMeaning(other, notification.Email, notification.Customer), other)
	}
}
