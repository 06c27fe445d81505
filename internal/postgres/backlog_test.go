package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

func TestOutboxState(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	state, err := s.OutboxState(t.Context())
	require.NoError(t, err)
	require.Equal(t, notification.OutboxState{}, state)

	emit(t, s, 4)
	exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '3 days' WHERE event_id = 'evt-1'")
	exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now() WHERE event_id = 'evt-1'")
	exec(t, s, "UPDATE event_outbox SET status = 'FAILED', error_message = 'refused' WHERE event_id = 'evt-2'")
	exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '2 days' WHERE event_id = 'evt-3'")
	state, err = s.OutboxState(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, state.Pending)
	require.Equal(t, 1, state.Failed)
	require.Equal(t, 48*time.Hour, state.OldestPending.Truncate(time.Hour))
}

// What was written by a clock ahead of the database's is not of negative age.
func TestOutboxStateOfAnEventFromTheFuture(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	exec(t, s, "UPDATE event_outbox SET created_at = now() + interval '1 hour'")

	state, err := s.OutboxState(t.Context())

	require.NoError(t, err)
	require.Equal(t, notification.OutboxState{Pending: 1}, state)
}
