package inbox_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// If several clients use one ticket at once, one succeeds.
func TestTicketIsUsedOnce(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	require.NoError(t, inbox.On(s).NewTicket(ctx, []byte("hash"), roomtest.Staff10, expires, time.Now().Add(30*time.Second)))
	require.Error(t, inbox.On(s).NewTicket(ctx, []byte("hash"), staff11, expires, expires), "the ticket exists")
	var in atomic.Int32
	roomtest.SideBySide(t, 10, func(int) error {
		who, tokenExpires, err := inbox.On(s).UseTicket(ctx, []byte("hash"))
		if errors.Is(err, notification.ErrNoTicket) {
			return nil
		}
		if err == nil && who == roomtest.Staff10 && tokenExpires.Equal(expires) {
			in.Add(1)
		}
		return err
	})
	require.EqualValues(t, 1, in.Load())
}

func TestTicketExpires(t *testing.T) {
	t.Parallel()

	s, ctx, later := postgrestest.New(t), t.Context(), time.Now().Add(time.Hour)
	for i := range 25 {
		require.NoError(t, inbox.On(s).NewTicket(ctx, []byte{byte(i)}, roomtest.Staff10, later, later))
	}
	postgrestest.Exec(t, s, "UPDATE gateway_ticket SET expires_at = now()")

	_, _, err := inbox.On(s).UseTicket(ctx, []byte{0})
	require.ErrorIs(t, err, notification.ErrNoTicket)

	for left := range 3 { // new tickets remove expired ones
		require.NoError(t, inbox.On(s).NewTicket(ctx, []byte{100, byte(left)}, roomtest.Staff10, later, later))
		require.Equal(t, max(0, 15-10*left), postgrestest.Get[int](t, s, "SELECT count(*) FROM gateway_ticket WHERE expires_at <= now()"))
	}
}
