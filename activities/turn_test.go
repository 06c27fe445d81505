package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

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
		Deliveries: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail},
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

// A database that is away begins no attempt: what the rate limit allows is not known.
func TestSendWithoutTurns(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), accepting()
	require.ErrorContains(t, sendLimited(t, db, mail, &turns{err: errors.New("connection refused")}), "connection refused")
	require.Zero(t, mail.calls)
	require.Zero(t, db.begun)
}

// What waited for the database past its turn is not sent: all that waited with it would be
// sent at once. It uses up none of its attempts.
func TestSendPastItsTurn(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), accepting()
	err := sendLimited(t, db, mail, &turns{in: -time.Second})
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, activities.RateLimited, failure.Type())
	require.False(t, failure.NonRetryable())
	require.Positive(t, failure.NextRetryDelay())
	require.Zero(t, mail.calls)
	require.Len(t, db.results, 1)
	require.Equal(t, notification.OutcomeError, db.results[0].Outcome)
}
