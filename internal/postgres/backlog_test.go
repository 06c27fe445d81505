package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

func TestBacklog(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 4)
	exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '3 days' WHERE event_id = 'evt-1'")
	exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now() WHERE event_id = 'evt-1'")
	exec(t, s, "UPDATE event_outbox SET status = 'FAILED', error_message = 'refused' WHERE event_id = 'evt-2'")
	exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '2 days' WHERE event_id = 'evt-3'")
	savePlan(t, s,
		decided("10", planned(notification.Email), planned(notification.Push)),
		decided("11", planned(notification.Email)),
		decided("12", planned(notification.Email)))
	setStatus(t, s, "evt-1-staff11-EMAIL", notification.Failed)
	exec(t, s, "UPDATE notification SET created_at = now() - interval '2 hours' WHERE user_id = '12'")

	backlog, err := s.Backlog(t.Context(), time.Hour)

	require.NoError(t, err)
	require.Equal(t, 2, backlog.Pending)
	require.Equal(t, 1, backlog.Failed)
	require.Equal(t, 48*time.Hour, backlog.OldestPending.Truncate(time.Hour))
	require.Equal(t, []postgres.DeliveryCount{
		{Channel: notification.Email, Status: notification.Failed, Count: 1},
		{Channel: notification.Email, Status: notification.Pending, Count: 1},
		{Channel: notification.Push, Status: notification.Pending, Count: 1},
	}, backlog.Deliveries)

	backlog, err = s.Backlog(t.Context(), 3*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 2, backlog.Deliveries[1].Count, "the older one is counted too")
}

func TestBacklogOfNothing(t *testing.T) {
	t.Parallel()

	backlog, err := postgrestest.New(t).Backlog(t.Context(), time.Hour)

	require.NoError(t, err)
	require.Equal(t, postgres.Backlog{Deliveries: []postgres.DeliveryCount{}}, backlog)
}

// What was written by a clock ahead of the database's is not of negative age.
func TestOutboxStateOfAnEventFromTheFuture(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	exec(t, s, "UPDATE event_outbox SET created_at = now() + interval '1 hour'")

	state, err := s.OutboxState(t.Context())

	require.NoError(t, err)
	require.Equal(t, postgres.OutboxState{Pending: 1}, state)
}
