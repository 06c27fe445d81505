package event_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

const quarter = 15 * time.Minute

// process writes n events that have been PROCESSING for age.
func process(t *testing.T, s *db.DB, n int, age time.Duration) {
	t.Helper()
	roomtest.Emit(t, s, n)
	postgrestest.Exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
	postgrestest.AddMany(t, s.Pool, n, postgrestest.ProcessedEvent{CreatedAt: time.Now().Add(-age)},
		postgrestest.Expressions{"event_id": "'evt-' || i"})
}

func TestStuckEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 6, 16*time.Minute)
	postgrestest.Exec(t, s, "UPDATE event_outbox SET correlation_id = 'c-1' WHERE event_id = 'evt-1'")
	postgrestest.Exec(t, s, "UPDATE processed_event SET restarts = 2 WHERE event_id = 'evt-1'")
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS' WHERE event_id = 'evt-2'")
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'FAILED' WHERE event_id = 'evt-3'")
	postgrestest.Exec(t, s, "UPDATE processed_event SET created_at = now() - interval '14 minutes' WHERE event_id = 'evt-4'")
	postgrestest.Exec(t, s, "DELETE FROM event_outbox WHERE event_id = 'evt-5'")

	first, next, err := event.On(s).StuckEvents(t.Context(), "", notification.StuckScan{Age: quarter, To: time.Now(), Limit: 2})
	require.NoError(t, err)
	require.Equal(t, "evt-5", next)
	rest, next, err := event.On(s).StuckEvents(t.Context(), next, notification.StuckScan{Age: quarter, To: time.Now(), Limit: 2})
	require.NoError(t, err)
	require.Empty(t, next)

	pending := notification.PendingEvent{ID: "evt-1", Source: notification.HeraldSource, Type: "RESERVATION_REQUESTED",
		AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "c-1"}
	require.Equal(t, []notification.StuckEvent{
		{PendingEvent: pending, Restarts: 2},
		{PendingEvent: notification.PendingEvent{ID: "evt-5"}, Purged: true},
	}, first)
	require.Len(t, rest, 1)
	require.Equal(t, "evt-6", rest[0].ID)
}

// An event waits by design while none of its deliveries is due.
func TestStuckEventsThatWait(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, time.Hour)
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", DigestWindow: 24 * time.Hour},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.SMS, DigestWindow: 24 * time.Hour},
		postgrestest.Escalation{EventType: "RESERVATION_REQUESTED", After: 2 * time.Hour})
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)),
		roomtest.Decided("11", roomtest.Planned(notification.Email)))
	const first, second = "UPDATE notification SET %s WHERE user_id = '10'", "UPDATE notification SET %s WHERE user_id = '11'"
	const pending = "status = 'PENDING', sent_at = NULL, send_after = NULL, next_attempt_at = NULL, strategy = 'IMMEDIATE', " +
		"escalates = false, created_at = now() - interval '1 hour'"
	const deferred = "next_attempt_at = now() + interval '1 hour'"
	const sent, later, digest = "status = 'SENT', sent_at = now()", "send_after = now() + interval '1 hour'", "strategy = 'AGGREGATE'"
	const escalates, past = "escalates = true, status = 'SENT', sent_at = now()", "send_after = now() - interval '1 second'"
	const longAgo = "created_at = now() - interval '3 days'"
	for _, tt := range []struct {
		one, two string
		waits    bool
	}{
		{one: pending, two: pending},
		{one: sent, two: sent},
		{one: later, two: later, waits: true},
		{one: later, two: sent, waits: true},
		{one: deferred, two: sent, waits: true},
		{one: deferred, two: pending},
		{one: later, two: pending},
		{one: digest + ", created_at = now() - interval '3 days', next_attempt_at = now() + interval '1 hour'", two: sent, waits: true},
		{one: past, two: sent},
		{one: digest, two: sent, waits: true},
		{one: digest + ", " + longAgo, two: sent},
		{one: escalates, two: sent, waits: true},
		{one: escalates, two: pending},
		{one: escalates + ", " + longAgo, two: sent},
		{one: escalates + ", " + later + ", " + longAgo, two: sent, waits: true},
	} {
		postgrestest.Exec(t, s, "UPDATE notification SET "+pending)
		postgrestest.Exec(t, s, fmt.Sprintf(first, tt.one))
		postgrestest.Exec(t, s, fmt.Sprintf(second, tt.two))
		for _, waiting := range []bool{true, false} {
			scan := notification.StuckScan{Age: quarter, Limit: 10}
			if waiting {
				scan.From = time.Now()
			} else {
				scan.To = time.Now()
			}
			events, next, err := event.On(s).StuckEvents(t.Context(), "", scan)
			require.NoError(t, err)
			require.Empty(t, next)
			require.Equal(t, waiting == tt.waits, len(events) == 1, "%v", tt)
		}
	}
}

func TestStuckDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, time.Hour)
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
	delayed, digest := roomtest.Planned(notification.SMS), roomtest.Planned(notification.Push)
	delayed.Strategy, delayed.SendAfter, digest.Strategy = notification.Delayed, time.Now().Add(24*time.Hour), notification.Aggregate
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email), delayed, digest),
		roomtest.Decided("11", roomtest.Planned(notification.Email), roomtest.Planned(notification.SMS)))
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now() - interval '16 minutes' WHERE delivery_id <> 'evt-1-staff11-SMS'")
	roomtest.SetStatus(t, s, "evt-1-staff11-EMAIL", notification.Failed)

	stuck := stuckDeliveries(t, s, 0)

	require.Len(t, stuck, 2, "the SMS waits until tomorrow")
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() WHERE send_after IS NOT NULL")
	stuck = stuckDeliveries(t, s, 0)
	require.Len(t, stuck, 3)
	email, sms, push := stuck["evt-1-staff10-EMAIL"], stuck["evt-1-staff10-SMS"], stuck["evt-1-staff10-PUSH"]
	require.Equal(t, []any{roomtest.Restaurant5, "evt-1", "10"}, []any{email.Aggregate, email.EventID, email.UserID})
	require.Len(t, stuckDeliveries(t, s, min(email.ID, sms.ID, push.ID)), 2)

	for name, change := range map[string]string{
		"started a minute ago": "UPDATE processed_event SET created_at = now() - interval '1 minute'",
		"about to be started":  "UPDATE event_outbox SET status = 'PENDING', published_at = NULL",
		"under way":            "UPDATE processed_event SET status = 'PROCESSING', created_at = now() - interval '1 hour'",
	} {
		postgrestest.Exec(t, s, change)
		require.Empty(t, stuckDeliveries(t, s, 0), name)
	}
	postgrestest.Exec(t, s, "DELETE FROM event_outbox")
	postgrestest.Exec(t, s, "DELETE FROM processed_event")
	require.Len(t, stuckDeliveries(t, s, 0), 3, "purged")
}

// The workflow of an event does not send a delivery that an operator retried. So the sweep looks for the
// retry's workflow, also while the event runs, and continues with its attempts.
func TestStuckRetries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, time.Hour)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email), roomtest.Planned(notification.SMS)))
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now() - interval '16 minutes', attempt_count = 3")
	require.Empty(t, stuckDeliveries(t, s, 0))
	roomtest.Must(attempt.On(s).Reopen(t.Context(),
		notification.Reopened{DeliveryID: "evt-1-staff10-EMAIL", RunID: "run-1", KeepText: true, Again: true}))(t)

	stuck := stuckDeliveries(t, s, 0)

	require.Len(t, stuck, 1)
	email := stuck["evt-1-staff10-EMAIL"]
	require.Equal(t, []any{true, true, true, 3}, []any{email.Retried, email.Ordered, email.Again, email.AttemptsBefore})
	postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'DELAYED'")
	require.False(t, stuckDeliveries(t, s, 0)["evt-1-staff10-EMAIL"].Ordered, "it waits for its own time, and the rules apply")
}

// A restore takes what is due first, then what is due within a time, then the rest. Never is later.
func TestStuckInTheOrderOfTheirTime(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, time.Hour)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)))
	now := time.Now()
	soon := now.Add(time.Hour)
	scans := []notification.StuckScan{{To: now, Limit: 10}, {From: now, To: soon, Limit: 10}, {From: soon, Limit: 10}}
	for sendAfter, want := range map[string]int{
		"NULL": 0, "'-infinity'": 0, "now() - interval '1 day'": 0, "now() + interval '1 minute'": 1, "now() + interval '1 day'": 2, "'infinity'": 2,
	} {
		for i, scan := range scans {
			postgrestest.Exec(t, s, "UPDATE notification SET send_after = "+sendAfter)
			postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'PROCESSING'")
			events, _, err := event.On(s).StuckEvents(t.Context(), "", scan)
			require.NoError(t, err)
			require.Equal(t, i == want, len(events) == 1, "event, send_after %s, scan %d", sendAfter, i)
			require.Equal(t, []any{1, 0}, openWork(t, s))
			postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
			deliveries, _, err := event.On(s).StuckDeliveries(t.Context(), 0, scan)
			require.NoError(t, err)
			require.Equal(t, i == want, len(deliveries) == 1, "delivery, send_after %s, scan %d", sendAfter, i)
			require.Equal(t, []any{0, 1}, openWork(t, s))
		}
	}
}

func openWork(t *testing.T, s *db.DB) []any {
	t.Helper()
	events, deliveries, err := event.On(s).OpenWork(t.Context())
	require.NoError(t, err)
	return []any{events, deliveries}
}

func stuckDeliveries(t *testing.T, s *db.DB, after int64) map[string]notification.StuckDelivery {
	t.Helper()
	page, next, err := event.On(s).StuckDeliveries(t.Context(), after, notification.StuckScan{Age: quarter, To: time.Now(), Limit: 100})
	require.NoError(t, err)
	require.Zero(t, next)
	byID := map[string]notification.StuckDelivery{}
	for _, d := range page {
		byID[d.DeliveryID] = d
	}
	return byID
}

func TestRestartsAreCounted(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 1, time.Hour)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now() - interval '1 hour'")

	require.NoError(t, event.On(s).EventRestarted(t.Context(), "evt-1"))
	require.NoError(t, event.On(s).DeliveryRestarted(t.Context(), "evt-1-staff10-EMAIL"))

	events, _, err := event.On(s).StuckEvents(t.Context(), "", notification.StuckScan{Age: quarter, To: time.Now(), Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 1, events[0].Restarts)
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
	require.Equal(t, 1, stuckDeliveries(t, s, 0)["evt-1-staff10-EMAIL"].Restarts)

	roomtest.Must(attempt.On(s).Reopen(t.Context(),
		notification.Reopened{DeliveryID: "evt-1-staff10-EMAIL", RunID: "run-1", KeepText: true}))(t)
	require.Zero(t, stuckDeliveries(t, s, 0)["evt-1-staff10-EMAIL"].Restarts, "an operator's retry begins anew")
}

// An event that an operator began anew meanwhile, or that has ended, stays as it is.
func TestEndStuckEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	process(t, s, 3, time.Hour)
	postgrestest.Exec(t, s, "UPDATE processed_event SET created_at = now() WHERE event_id = 'evt-2'")
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS' WHERE event_id = 'evt-3'")
	for _, id := range []string{"evt-1", "evt-2", "evt-3"} {
		require.NoError(t, event.On(s).EndStuckEvent(t.Context(), id, notification.EventCancelled, quarter))
	}

	require.Equal(t, "FAILED", processed(t, s, "evt-1"))
	require.Equal(t, "CANCELLED", postgrestest.Get[string](t, s, "SELECT outcome FROM processed_event WHERE event_id = 'evt-1'"))
	require.Equal(t, "PROCESSING", processed(t, s, "evt-2"))
	require.Equal(t, "SUCCESS", processed(t, s, "evt-3"))
}

func TestRecordSweep(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	last := roomtest.Must(event.On(s).LastSweep(t.Context()))(t)
	require.Equal(t, notification.Sweep{}, last)
	process(t, s, 2, time.Hour)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE'")
	require.Equal(t, 2, incomplete(t, s))

	for i := 1; i <= 120; i++ {
		require.NoError(t,
			event.On(s).RecordSweep(t.Context(), notification.Sweep{Looked: i, StartedAgain: 2, Closed: 3, Failed: 4,
				AfterEvent: fmt.Sprintf("evt-%d", i), AfterNotification: 7, AfterWaitingEvent: "evt-w"}))
	}

	last = roomtest.Must(event.On(s).LastSweep(t.Context()))(t)
	require.False(t, last.At.IsZero())
	last.At = time.Time{}
	require.Equal(t, notification.Sweep{Looked: 120, StartedAgain: 2, Closed: 3, Failed: 4, AfterEvent: "evt-120", AfterNotification: 7,
		AfterWaitingEvent: "evt-w"}, last)
	require.Equal(t, 100, postgrestest.Get[int](t, s, "SELECT count(*) FROM sweep"))
	counted := time.Now().Truncate(time.Millisecond)
	require.NoError(t, event.On(s).RecordSweep(t.Context(), notification.Sweep{ReceiptsTo: &counted}))
	require.NoError(t, event.On(s).RecordSweep(t.Context(), notification.Sweep{Looked: 121})) // as a worker of 1.0
	last = roomtest.Must(event.On(s).LastSweep(t.Context()))(t)
	require.Equal(t, 121, last.Looked)
	require.True(t, counted.Equal(*last.ReceiptsTo), "receipts since the last count still have to be counted")
	require.Equal(t, 1, incomplete(t, s), "evt-1 still has a delivery that is PENDING")
	roomtest.SetStatus(t, s, "evt-1-staff10-EMAIL", notification.Failed)
	postgrestest.Exec(t, s, "UPDATE processed_event SET problem = 'no path' WHERE event_id = 'evt-1'")
	require.NoError(t, event.On(s).RecordSweep(t.Context(), notification.Sweep{}))
	require.Zero(t, incomplete(t, s))
	require.Equal(t, []string{"evt-1 PROBLEM", "evt-2"},
		postgrestest.List(t, s, "SELECT concat_ws(' ', event_id, outcome) FROM processed_event ORDER BY 1"))
}

// incomplete counts the events that ended with PENDING deliveries.
func incomplete(t *testing.T, s *db.DB) int {
	t.Helper()
	return postgrestest.Get[int](t, s, "SELECT count(*) FROM processed_event WHERE outcome = 'INCOMPLETE'")
}
