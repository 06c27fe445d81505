package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// While a promotion restarts an event, the event's workflows end. Then no write of a worker, old or
// new, ends the event or loses a delivery.
func TestRestartingEventKeepsItsDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 2, "1 hour")
	savePlan(t, s, decided("10", planned(notification.Email), planned(notification.SMS)))
	const mail = "evt-1-staff10-EMAIL"
	require.True(t, must(s.BeginRestart(t.Context(), "evt-1"))(t))
	state := func() string {
		return postgrestest.Get[string](t, s, `SELECT string_agg(status, ' ' ORDER BY channel) || ' ' || (SELECT status FROM processed_event WHERE event_id = 'evt-1') FROM notification`)
	}

	require.ErrorIs(t, errOf(s.GiveUp(t.Context(), mail, notification.Cancelled, "cancelled")), notification.ErrNoDelivery)
	require.Zero(t, must(s.CancelDeliveries(t.Context(), "evt-1", "cancelled", 10))(t))
	require.ErrorIs(t, errOf(s.FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Outcome: notification.EventCancelled})), notification.ErrEnded)
	postgrestest.Exec(t, s, `UPDATE processed_event SET status = 'FAILED' WHERE event_id = 'evt-1' AND status = 'PROCESSING'`)
	require.Equal(t, "PENDING PENDING PROCESSING", state())

	postgrestest.Exec(t, s, `UPDATE notification SET status = 'SENT', sent_at = now() WHERE channel = 'SMS'`) // an attempt in flight succeeds
	require.Equal(t, "PENDING SENT PROCESSING", state())
	require.NoError(t, s.EventRestarted(t.Context(), "evt-1"))
	require.Zero(t, postgrestest.Get[int](t, s, `SELECT restarts FROM processed_event WHERE event_id = 'evt-1'`), "a promotion does not count as a restart")
	require.Equal(t, notification.Cancelled, must(s.GiveUp(t.Context(), mail, notification.Cancelled, "cancelled"))(t))
}

func TestBeginRestart(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 3, "1 hour")
	postgrestest.Exec(t, s, `UPDATE processed_event SET status = 'SUCCESS' WHERE event_id = 'evt-2'`)
	for id, want := range map[string]bool{"evt-1": true, "evt-2": false, "started-and-not-marked-yet": true} {
		require.Equal(t, want, must(s.BeginRestart(t.Context(), id))(t), id)
	}
	since := postgrestest.Get[string](t, s, `SELECT restarting_at::text FROM processed_event WHERE event_id = 'evt-1'`)
	must(s.BeginRestart(t.Context(), "evt-1"))(t)
	require.Equal(t, since, postgrestest.Get[string](t, s, `SELECT restarting_at::text FROM processed_event WHERE event_id = 'evt-1'`), "a repeat changes nothing")

	marked := must(s.RestartingEvents(t.Context(), "", 10))(t)
	require.Len(t, marked, 2)
	require.Equal(t, []any{"evt-1", true, true}, []any{marked[0].ID, marked[0].Restarting, marked[1].Purged})
	require.Equal(t, []string{"evt-3"}, must(s.UnfinishedEvents(t.Context(), "evt-1", 1))(t))
	require.Equal(t, 2, must(s.CountRestarting(t.Context()))(t))

	stuck, _, err := s.StuckEvents(t.Context(), "", false, quarter, 10)
	require.NoError(t, err)
	require.Len(t, stuck, 1, "the sweep leaves a restart to the promotion at first")
	postgrestest.Exec(t, s, `UPDATE processed_event SET restarting_at = now() - interval '16 minutes' WHERE event_id = 'evt-1'`)
	stuck, _, err = s.StuckEvents(t.Context(), "", false, quarter, 1)
	require.NoError(t, err)
	require.True(t, stuck[0].Restarting)
	require.NoError(t, s.EndStuckEvent(t.Context(), "evt-1", notification.EventFailed, quarter))
	require.Equal(t, "FAILED", postgrestest.Get[string](t, s, `SELECT status FROM processed_event WHERE event_id = 'evt-1'`))
}

func TestClaimedEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 2)
	postgrestest.Exec(t, s, `UPDATE event_outbox SET lease_owner = 'poller', lease_until = now() + interval '1 minute' WHERE event_id = 'evt-2'`)
	require.Equal(t, []string{"evt-2"}, must(s.ClaimedEvents(t.Context(), 10))(t))
}

func TestPromotions(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	last := must(s.LastPromotion(t.Context()))(t)
	require.Zero(t, last)

	held, unlock, err := s.LockPromotions(t.Context())
	require.NoError(t, err)
	require.NoError(t, held(t.Context()))
	require.ErrorIs(t, errOfTwo(s.LockPromotions(t.Context())), postgres.ErrPromoting)
	unlock()
	_, unlock, err = s.LockPromotions(t.Context())
	require.NoError(t, err)
	defer unlock()

	for range 2 { // the second one continues
		require.NoError(t, s.BeginPromotion(t.Context(), 4, 3))
	}
	require.Equal(t, 1, postgrestest.Get[int](t, s, `SELECT count(*) FROM worker_promotion`))
	require.NoError(t, s.EndPromotion(t.Context()))
	require.NoError(t, s.BeginPromotion(t.Context(), 3, 4))
	last = must(s.LastPromotion(t.Context()))(t)
	require.Equal(t, postgres.Promotion{Generation: 3, From: 4, BeganAt: last.BeganAt}, last)

	require.NoError(t, s.EndRamp(t.Context(), 4, 5))
	require.Equal(t, last, must(s.LastPromotion(t.Context()))(t), "the promotion has not ended")
	require.NoError(t, s.EndPromotion(t.Context()))
	require.NoError(t, s.EndRamp(t.Context(), 4, 5))
	last = must(s.LastPromotion(t.Context()))(t)
	require.Equal(t, postgres.Promotion{Generation: 4, From: 5, BeganAt: last.BeganAt, EndedAt: &last.BeganAt}, last)
}

func TestAttemptsUnderWay(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, "1 hour")
	savePlan(t, s, decided("10", planned(notification.Email)))
	underWay := func() bool { return must(s.AttemptsUnderWay(t.Context(), "evt-1"))(t) }
	require.False(t, underWay())
	begin(t, s, "evt-1-staff10-EMAIL", 0)
	require.True(t, underWay())
	runOut(t, s)
	require.False(t, underWay(), "its process died")
}
