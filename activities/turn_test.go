package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// turns is a TurnStore that gives out all turns, or fails.
type turns struct {
	err error
	in  time.Duration // when the turns are due

	wanted []notification.TurnsWanted
}

func (s *turns) TakeTurns(_ context.Context, in notification.TurnsWanted) (notification.Turns, error) {
	s.wanted = append(s.wanted, in)
	return notification.Turns{Granted: in.Most, Wait: s.in}, s.err
}

// sendLimited makes an attempt over a channel with a rate limit.
func sendLimited(t *testing.T, db *deliveries, mail activities.Sender, from *turns) error {
	t.Helper()
	a := &activities.Activities{
		Attempts: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail},
		Turns: from, RateLimits: map[notification.Channel]float64{notification.Email: 2},
	}
	_, err := run[activities.SendResult](a, a.Send, sendInput)
	return err
}

func TestSendWaitsForItsTurn(t *testing.T) {
	t.Parallel()

	db, mail, from := due(1, 0), accepting(), &turns{in: 50 * time.Millisecond}
	begun := time.Now()
	require.NoError(t, sendLimited(t, db, mail, from))
	require.Equal(t, 1, mail.calls)
	require.GreaterOrEqual(t, time.Since(begun), from.in)
	require.Len(t, from.wanted, 1)
	require.Equal(t, 1, from.wanted[0].Most)
	require.InDelta(t, 2, from.wanted[0].Rate, 0)
}

// Without a turn nothing is sent, and the attempt does not count: what the rate limit allows is
// not known.
func TestSendWithoutTurns(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), accepting()
	require.ErrorContains(t, sendLimited(t, db, mail, &turns{err: errors.New("connection refused")}), "connection refused")
	require.Zero(t, mail.calls)
	require.Equal(t, []notification.Attempt{due(1, 0).attempt}, db.released)
	require.Empty(t, db.results)
}

// Under a rate limit a worker has as many slots as get their turns while they wait, and two at
// least.
func TestSendSlots(t *testing.T) {
	t.Parallel()

	for rate, want := range map[float64]int{0: 64, 0.01: 2, 1: 2, 10: 20, 32: 64, 1e300: 64} {
		require.Equal(t, want, activities.SendSlots(rate, 64), "%v a second", rate)
	}
}
