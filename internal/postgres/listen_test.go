package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// listen runs ListenEvents until the test ends, and returns its wake-ups.
func listen(t *testing.T, s *postgres.Store) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wakes, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		s.ListenEvents(ctx, func() { wakes <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return wakes
}

func awaitWake(t *testing.T, wakes <-chan struct{}) {
	t.Helper()
	select {
	case <-wakes:
	case <-time.After(time.Minute):
		require.Fail(t, "not woken")
	}
}

func TestListenEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	wakes := listen(t, s)
	awaitWake(t, wakes) // for what was written before somebody listened
	emit(t, s, 1)
	awaitWake(t, wakes)

	require.Positive(t, get[int](t, s, `
		SELECT count(pg_terminate_backend(pid))
		FROM   pg_stat_activity
		WHERE  datname = current_database() AND query = 'LISTEN event_outbox'`))
	awaitWake(t, wakes) // it listens again
	emitEvent(t, s, "evt-2")
	awaitWake(t, wakes)
}

// One notification a statement, however many rows it writes.
func TestNotifyOncePerStatement(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	wakes := listen(t, s)
	awaitWake(t, wakes)
	exec(t, s, insertEvent+`('evt-1', 'T', 'RESTAURANT', 5, '{}'), ('evt-2', 'T', 'RESTAURANT', 5, '{}')`)
	awaitWake(t, wakes)
	exec(t, s, "NOTIFY event_outbox, 'the last'")
	awaitWake(t, wakes)
	require.Empty(t, wakes)
}
