package limit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/purge"
)

// hooks is a sender to many servers. Busy servers ask for a wait.
type hooks struct {
	busy  map[string]time.Duration
	asked map[string]int
}

func (h *hooks) Destination(msg notification.Message) string { return msg.To }

func (h *hooks) Send(_ context.Context, msg notification.Message) (notification.Answer, error) {
	if h.asked == nil {
		h.asked = map[string]int{}
	}
	h.asked[msg.To]++
	if wait, busy := h.busy[msg.To]; busy {
		return notification.Answer{}, &notification.ProviderError{Provider: "hooks", Class: notification.Busy, RetryAfter: wait, Theirs: true}
	}
	return notification.Answer{Status: 200}, nil
}

// requireAlone requires that a message waits because of its destination, for about this time.
func requireAlone(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	var rest *notification.BackOffError
	require.ErrorAs(t, err, &rest)
	require.True(t, rest.Alone)
	require.InDelta(t, wait.Seconds(), rest.For.Seconds(), 5)
}

// A destination that asks for a wait gets no message until then. The others get theirs.
func TestBusyDestination(t *testing.T) {
	t.Parallel()

	sender := &hooks{busy: map[string]time.Duration{"a": time.Minute, "unclear": 0}}
	f := limit.NewFailover(nil, &limit.Provider{Name: "hooks", Sender: sender})
	to := func(destination string) error {
		_, err := f.Send(t.Context(), notification.Message{To: destination})
		return err
	}
	var busy *notification.ProviderError
	require.ErrorAs(t, to("a"), &busy)
	require.ErrorAs(t, to("unclear"), &busy)
	for range 10 {
		requireAlone(t, to("a"), time.Minute)
		require.NoError(t, to("b"))
	}
	require.ErrorAs(t, to("unclear"), &busy)
	require.Equal(t, map[string]int{"a": 1, "b": 10, "unclear": 2}, sender.asked)
}

// Each destination has separate tokens, in all processes, and the table names no address.
func TestRateLimitOfDestinations(t *testing.T) {
	t.Parallel()

	const oneADay = 1 / 86400.
	db, sender := postgrestest.New(t), &hooks{}
	process := func() *limit.Failover {
		return limit.NewFailover(nil, &limit.Provider{Name: "hooks", Sender: sender, RateLimit: oneADay, Tokens: limit.On(db)})
	}
	for _, f := range []*limit.Failover{process(), process()} {
		for _, destination := range []string{"a", "b", "a", "b"} {
			if _, err := f.Send(t.Context(), notification.Message{To: destination}); err != nil {
				requireAlone(t, err, 24*time.Hour)
			}
		}
	}
	require.Equal(t, map[string]int{"a": 1, "b": 1}, sender.asked)
	require.Equal(t, []string{"hooks 3e23e8160039594a33894f6564e1b134", "hooks ca978112ca1bbdcafac231b39a23dc4d"},
		postgrestest.List(t, db, "SELECT channel FROM channel_turn ORDER BY channel"))

	postgrestest.Exec(t, db, "UPDATE channel_turn SET next_at = now() - interval '25 hours' WHERE channel LIKE '% ca97%'")
	deleted, err := purge.On(db).DeleteTurns(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
}
