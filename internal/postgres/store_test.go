package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// Events cannot use up the connections of deliveries: here they hold all of theirs,
// and a delivery's statement is still answered.
func TestOpenTwo(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	url := s.Pool.Config().ConnString()
	events, deliveries, err := postgres.OpenTwo(t.Context(), url, "events", "deliveries")
	require.NoError(t, err)
	defer events.Close()
	defer deliveries.Close()
	all := events.Pool.Config().MaxConns
	require.Equal(t, s.Pool.Config().MaxConns, all+deliveries.Pool.Config().MaxConns)
	for range all {
		conn, err := events.Pool.Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
	}
	busy, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, events.Ready(busy), context.DeadlineExceeded)

	require.NoError(t, deliveries.Ready(t.Context()))

	_, _, err = postgres.OpenTwo(t.Context(), "postgres://host:port", "events", "deliveries")
	require.Error(t, err)
	one, other, err := postgres.OpenTwo(t.Context(), postgrestest.URL(t)+"&pool_max_conns=1", "events", "deliveries")
	require.NoError(t, err)
	defer one.Close()
	defer other.Close()
	require.Equal(t, [2]int32{1, 1}, [2]int32{one.Pool.Config().MaxConns, other.Pool.Config().MaxConns})
}
