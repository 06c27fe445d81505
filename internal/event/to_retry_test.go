package event_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

func TestEventsToRetry(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 11)
	postgrestest.Exec(t, s,
		"UPDATE event_outbox SET status = 'FAILED', error_message = 'claimed 10 times' WHERE event_id IN ('evt-1', 'evt-2', 'evt-3', 'evt-7')")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET withdrawn_at = now() WHERE event_id = 'evt-3'")
	postgrestest.Exec(t, s,
		"UPDATE event_outbox SET error_message = 'cancelled by an operator' WHERE event_id = 'evt-2'") // the text does not count
	postgrestest.Exec(t, s, "UPDATE event_outbox SET event_type = 'OTHER' WHERE event_id = 'evt-2'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '2 hours' WHERE event_id = 'evt-1'")
	postgrestest.Add(t, s.Pool,
		postgrestest.ProcessedEvent{ID: "evt-4", Status: notification.ProcessedFailed},
		postgrestest.ProcessedEvent{ID: "evt-5", Status: notification.ProcessedSuccess},
		postgrestest.ProcessedEvent{ID: "evt-7", Status: notification.ProcessedSuccess},
		postgrestest.ProcessedEvent{ID: "evt-6", Status: notification.ProcessedSuccess, Outcome: notification.NoRouting},
		postgrestest.ProcessedEvent{ID: "evt-8", Status: notification.ProcessedSuccess, Outcome: notification.NoRouting},
		postgrestest.ProcessedEvent{ID: "evt-9", Status: notification.ProcessedSuccess, Outcome: notification.NoRecipients},
		postgrestest.ProcessedEvent{ID: "purged", Status: notification.ProcessedSuccess, Outcome: notification.NoRouting})
	postgrestest.Exec(t, s, "UPDATE event_outbox SET event_type = 'OTHER' WHERE event_id = 'evt-8'")
	postgrestest.Add(t, s.Pool,
		postgrestest.ProcessedEvent{ID: "evt-10", Status: notification.ProcessedFailed, Outcome: notification.EventCancelled},
		postgrestest.ProcessedEvent{ID: "evt-11", Status: notification.ProcessedSuccess, Outcome: notification.NoRouting})
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: "by-10", Cancels: "evt-10"},
		postgrestest.Event{ID: "by-11", Cancels: "evt-11"}) // cancelled by another event: no retry

	tests := []struct {
		filter event.RetryFilter
		want   []string
	}{
		{event.RetryFilter{}, []string{"evt-1", "evt-2", "evt-4"}},
		{event.RetryFilter{EventType: "OTHER"}, []string{"evt-2"}},
		{event.RetryFilter{Since: time.Now().Add(-time.Hour)}, []string{"evt-2", "evt-4"}},
		{event.RetryFilter{Until: time.Now().Add(-time.Hour)}, []string{"evt-1"}},
		{event.RetryFilter{EventType: "NONE"}, nil},
		{event.RetryFilter{Outcome: notification.NoRouting}, []string{"evt-6", "evt-8"}},
		{event.RetryFilter{Outcome: notification.NoRouting, EventType: "OTHER"}, []string{"evt-8"}},
		{event.RetryFilter{Outcome: notification.EventProblem}, nil},
	}
	for _, tt := range tests {
		require.Equal(t, len(tt.want), roomtest.Must(event.On(s).CountEventsToRetry(t.Context(), tt.filter))(t), fmt.Sprint(tt.filter))
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page := roomtest.Must(event.On(s).EventsToRetry(t.Context(), tt.filter, after, 2))(t)
			require.LessOrEqual(t, len(page), 2)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		require.Equal(t, tt.want, got, fmt.Sprint(tt.filter))
	}
}

// The search for a rare filter reads page by page. It finds an event that is FAILED in both
// tables once, wherever a page ends.
func TestEventsToRetryOfAFilter(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 1600, postgrestest.Event{Status: notification.OutboxFailed}, postgrestest.Expressions{
		"event_id": "'evt-' || i", "event_type": "CASE WHEN i % 400 = 0 THEN 'RARE' ELSE 'T' END",
	})
	postgrestest.AddMany(t, s.Pool, 800, postgrestest.ProcessedEvent{Status: notification.ProcessedFailed},
		postgrestest.Expressions{"event_id": "'evt-' || 2 * i"})
	for filter, want := range map[event.RetryFilter]int{{}: 1600, {EventType: "RARE"}: 4, {EventType: "NONE"}: 0} {
		require.Equal(t, want, roomtest.Must(event.On(s).CountEventsToRetry(t.Context(), filter))(t))
		seen := map[string]bool{}
		for after := ""; ; {
			page := roomtest.Must(event.On(s).EventsToRetry(t.Context(), filter, after, 501))(t)
			if len(page) == 0 {
				break
			}
			for _, id := range page {
				require.False(t, seen[id])
				seen[id] = true
			}
			after = page[len(page)-1]
		}
		require.Len(t, seen, want)
	}
}

// A page reads the indexes of failed rows, and keys. It never reads a whole table, however many
// rows have failed.
func TestEventsToRetryByIndex(t *testing.T) {
	t.Parallel()

	for _, every := range []int{5, 1000} {
		s := postgrestest.New(t)
		const all = 20_000
		nth := fmt.Sprintf("i %% %d", every)
		postgrestest.AddMany(t, s.Pool, all, postgrestest.Event{}, postgrestest.Expressions{
			"event_id": "'evt-' || i", "status": "CASE " + nth + " WHEN 0 THEN 'FAILED' ELSE 'PROCESSED' END",
			"published_at": "CASE WHEN " + nth + " > 0 THEN now() END", "error_message": "CASE " + nth + " WHEN 0 THEN 'claimed 10 times' END",
		})
		processed := fmt.Sprintf("(i + (i - 1) / %d)", every-1)
		postgrestest.AddMany(t, s.Pool, all-all/every, postgrestest.ProcessedEvent{}, postgrestest.Expressions{
			"event_id": "'evt-' || " + processed, "status": fmt.Sprintf("CASE %s %% %d WHEN 1 THEN 'FAILED' ELSE 'SUCCESS' END", processed, every),
		})
		postgrestest.Exec(t, s, "ANALYZE event_outbox, processed_event")
		for _, filter := range []event.RetryFilter{{}, {EventType: "T"}, {EventType: "OTHER", Since: time.Now().Add(-time.Hour)}} {
			for _, plan := range plansOf(t, s, func(s *db.DB) error {
				return roomtest.ErrOf(event.On(s).EventsToRetry(t.Context(), filter, "evt-1", 200))
			}) {
				require.Contains(t, plan, "event_outbox_failed_id")
				require.Contains(t, plan, "processed_event_failed_id")
				require.NotContains(t, plan, "Seq Scan", fmt.Sprint(every, filter))
			}
		}
	}
}

// Every query for an outcome reads an index of outcomes, in its order.
func TestOutcomesByIndex(t *testing.T) {
	t.Parallel()

	for _, every := range []int{2, 1000} {
		s := postgrestest.New(t)
		const all = 20_000
		postgrestest.AddMany(t, s.Pool, all, postgrestest.Event{Status: notification.OutboxProcessed},
			postgrestest.Expressions{"event_id": "'evt-' || i"})
		postgrestest.AddMany(t, s.Pool, all, postgrestest.ProcessedEvent{Status: notification.ProcessedSuccess}, postgrestest.Expressions{
			"event_id": "'evt-' || i", "outcome": fmt.Sprintf("CASE i %% %d WHEN 1 THEN 'NO_ROUTING' END", every),
			"updated_at": "now() - i * interval '1 minute'",
		})
		postgrestest.Exec(t, s, "ANALYZE event_outbox, processed_event")
		unrouted := list.EventFilter{Outcome: notification.NoRouting}
		asked := map[string]func(*db.DB) error{
			"processed_event_outcome_id": func(s *db.DB) error {
				return roomtest.ErrOf(event.On(s).EventsToRetry(t.Context(), event.RetryFilter{Outcome: notification.NoRouting}, "evt-1", 200))
			},
			"processed_event_outcome_at": func(s *db.DB) error {
				return roomtest.ErrOf(list.Reader{Pool: s.Pool}.Events(t.Context(), unrouted, list.Place{Limit: 50}))
			},
			"Index Scan Backward using processed_event_outcome_at on processed_event p": func(s *db.DB) error {
				rare := list.EventFilter{Outcome: notification.NoRouting, Type: "RARE"}
				return roomtest.ErrOf(list.Reader{Pool: s.Pool, Searched: 5}.Events(t.Context(), rare, list.Place{After: "evt-1", Limit: 50}))
			},
			"Scan using processed_event_outcome_at": func(s *db.DB) error {
				return roomtest.ErrOf(report.Reader{Pool: s.Pool}.EndedEvents(t.Context(), time.Hour, notification.MendableOutcomes()...))
			},
		}
		for index, ask := range asked {
			plans := roomtest.AllPlansOf(t, s, ask)
			for _, plan := range plans {
				require.NotContains(t, plan, "Seq Scan on", every)
			}
			require.Contains(t, plans[len(plans)-1], index, every)
		}
	}
}

// plansOf returns the database's plans for the last query of f: with these parameters, and with
// any, as for a frequent query.
func plansOf(t *testing.T, s *db.DB, f func(*db.DB) error) []string {
	t.Helper()
	listening, asked := roomtest.Heard(t, s)
	require.NoError(t, f(listening))
	return roomtest.PlansOfQuery(t, s, asked.All[len(asked.All)-1])
}
