package channel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// A provider at its rate limit gets no more messages, from any process: the next one gets them. A
// message that the first provider may have waits. The limit of one provider is not another's.
func TestRateLimitOfProvider(t *testing.T) {
	t.Parallel()

	const oneADay = 1 / 86400.
	db := postgrestest.New(t)
	first, second := &told{}, &told{}
	both := func() *channel.Failover {
		return channel.NewFailover(channel.NewBoard(db), &channel.Provider{Name: "a", Sender: first, RateLimit: oneADay}, &channel.Provider{Name: "b", Sender: second})
	}
	here, there := both(), both()
	sendSome(t, here, 3)
	sendSome(t, there, 3)
	require.Equal(t, 1, first.asked)
	require.Equal(t, 5, second.asked)

	_, err := there.Send(t.Context(), notification.Message{Provider: "a"})
	require.ErrorIs(t, err, notification.ErrProvidersRest)
	require.Equal(t, map[string]bool{"a": false, "b": false}, there.Resting())

	limited := channel.NewFailover(channel.NewBoard(db), &channel.Provider{Name: "c", Sender: first, RateLimit: 20})
	sendSome(t, limited, 10)
	require.Equal(t, 11, first.asked, "each waited for its turn")

	db.Close()
	_, err = limited.Send(t.Context(), notification.Message{})
	require.ErrorIs(t, err, notification.ErrProvidersRest, "nobody knows the turns")
}
