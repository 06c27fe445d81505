package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// setEvent brings evt-1 to a status in the outbox, and to one in processed_event
// where that is not "".
func setEvent(t *testing.T, s *postgres.Store, outbox, processed string) {
	t.Helper()
	exec(t, s, "DELETE FROM processed_event")
	exec(t, s, `
		UPDATE event_outbox
		SET    status = $1,
		       attempt_count = 10,
		       published_at = CASE $1 WHEN 'PROCESSED' THEN now() END,
		       error_message = CASE $1 WHEN 'FAILED' THEN 'claimed 10 times' END,
		       lease_owner = NULL,
		       lease_until = NULL
		WHERE  event_id = 'evt-1'`, outbox)
	if processed != "" {
		exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('evt-1', $1)", processed)
	}
}

// Every status in the outbox beside every status in processed_event.
func TestRetryEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 2)
	retried := map[string]bool{
		"FAILED/": true, "FAILED/FAILED": true, "FAILED/PROCESSING": true,
		"PROCESSED/FAILED": true, "PROCESSED/PROCESSING": true,
		"PENDING/FAILED": true, "PENDING/PROCESSING": true, // a poller died before it wrote down that it had started it
	}
	for _, outboxStatus := range []string{"PENDING", "PROCESSED", "FAILED"} {
		for _, processedStatus := range []string{"", "PROCESSING", "SUCCESS", "FAILED"} {
			name := outboxStatus + "/" + processedStatus
			setEvent(t, s, outboxStatus, processedStatus)
			before := outbox(t, s, "evt-1")

			got, err := s.RetryEvent(t.Context(), "evt-1")

			require.NoError(t, err)
			require.Equal(t, retried[name], got, name)
			state, err := s.EventState(t.Context(), "evt-1")
			require.NoError(t, err)
			if got {
				require.Equal(t, outboxRow{Status: "PENDING"}, outbox(t, s, "evt-1"), name)
				require.Empty(t, state.Processed, name)
				continue
			}
			require.Equal(t, before, outbox(t, s, "evt-1"), name)
			require.EqualValues(t, processedStatus, state.Processed, name)
		}
	}
	require.Equal(t, outboxRow{Status: "PENDING"}, outbox(t, s, "evt-2"))

	setEvent(t, s, "FAILED", "")
	_, err := s.RetryEvent(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Contains(t, claim(t, s, "a", 10), "evt-1", "a poller takes it again")
	got, err := s.RetryEvent(t.Context(), "evt-404")
	require.NoError(t, err)
	require.False(t, got)
}

// What was cancelled stays so, and is not waited for; what waits goes on waiting.
func TestRetryEventWithDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	savePlan(t, s, decided("10", planned(notification.Email), planned(notification.Push)))
	exec(t, s, "UPDATE notification SET send_after = now() + interval '1 hour'")
	setStatus(t, s, mail, notification.Cancelled)
	setEvent(t, s, "PROCESSED", "FAILED")

	retried, err := s.RetryEvent(t.Context(), "evt-1")

	require.NoError(t, err)
	require.True(t, retried)
	require.True(t, get[bool](t, s, "SELECT status = 'CANCELLED' AND send_after IS NULL FROM notification WHERE channel = 'EMAIL'"))
	require.True(t, get[bool](t, s, "SELECT status = 'PENDING' AND send_after IS NOT NULL FROM notification WHERE channel = 'PUSH'"))
}

func TestEventState(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	setEvent(t, s, "FAILED", "FAILED")
	exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('evt-2', 'SUCCESS')")
	for id, want := range map[string]postgres.EventState{
		"evt-1": {Outbox: "FAILED", Error: "claimed 10 times", Processed: "FAILED"},
		"evt-2": {Processed: "SUCCESS"},
	} {
		state, err := s.EventState(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, state)
	}
	_, err := s.EventState(t.Context(), "evt-404")
	require.ErrorIs(t, err, notification.ErrNoEvent)
}

// An event can be withdrawn while no poller has it in its hands.
func TestWithdrawEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	withdraw := func() bool {
		withdrawn, err := s.WithdrawEvent(t.Context(), "evt-1")
		require.NoError(t, err)
		return withdrawn
	}
	claim(t, s, "a", 1)
	require.False(t, withdraw())
	endLeases(t, s)
	require.True(t, withdraw())
	require.Equal(t, outboxRow{Status: "FAILED", Claims: 1, Error: ptr(postgres.CancelledByOperator)}, outbox(t, s, "evt-1"))
	end(t, s, "a", notification.ClaimStarted, "evt-1")
	require.Equal(t, "FAILED", outbox(t, s, "evt-1").Status, "the fence holds against the poller that was late")
	require.False(t, withdraw(), "once")
	setEvent(t, s, "PROCESSED", "SUCCESS")
	require.False(t, withdraw())
}

// One that was put back has deliveries of its first time: those that nobody
// worked on any more are not to be sent in a digest either.
func TestWithdrawEventWithDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	savePlan(t, s, decided("10", planned(notification.Email), planned(notification.Push)))
	setStatus(t, s, mail, notification.Sent)
	addItems(t, s, reviewMails, 2, 2, 10) // of another event
	setEvent(t, s, "PROCESSED", "PROCESSING")
	_, err := s.RetryEvent(t.Context(), "evt-1")
	require.NoError(t, err)

	withdrawn, err := s.WithdrawEvent(t.Context(), "evt-1")

	require.NoError(t, err)
	require.True(t, withdrawn)
	counts, err := s.EventCounts(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, map[notification.Status]int{notification.Sent: 1, notification.Cancelled: 1}, counts)
	require.Equal(t, "PENDING", delivery(t, s, item(2)).Status)
}

func TestEventCounts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	savePlan(t, s, decided("10", planned(notification.Email), planned(notification.Push)), decided("9", planned(notification.Email)))
	setStatus(t, s, mail, notification.Sent)

	counts, err := s.EventCounts(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, map[notification.Status]int{notification.Sent: 1, notification.Pending: 2}, counts)
	counts, err = s.EventCounts(t.Context(), "evt-404")
	require.NoError(t, err)
	require.Empty(t, counts)
}

func TestFailedEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 7)
	exec(t, s, "UPDATE event_outbox SET status = 'FAILED', error_message = 'claimed 10 times' WHERE event_id IN ('evt-1', 'evt-2', 'evt-3', 'evt-7')")
	exec(t, s, "UPDATE event_outbox SET error_message = $1 WHERE event_id = 'evt-3'", postgres.CancelledByOperator) // withdrawn
	exec(t, s, "UPDATE event_outbox SET event_type = 'OTHER' WHERE event_id = 'evt-2'")
	exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '2 hours' WHERE event_id = 'evt-1'")
	exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('evt-4', 'FAILED'), ('evt-5', 'SUCCESS'), ('evt-7', 'SUCCESS')")

	tests := []struct {
		filter postgres.FailedEventFilter
		want   []string
	}{
		{postgres.FailedEventFilter{}, []string{"evt-1", "evt-2", "evt-4"}},
		{postgres.FailedEventFilter{EventType: "OTHER"}, []string{"evt-2"}},
		{postgres.FailedEventFilter{Since: time.Now().Add(-time.Hour)}, []string{"evt-2", "evt-4"}},
		{postgres.FailedEventFilter{Until: time.Now().Add(-time.Hour)}, []string{"evt-1"}},
		{postgres.FailedEventFilter{EventType: "NONE"}, nil},
	}
	for _, tt := range tests {
		count, err := s.CountFailedEvents(t.Context(), tt.filter)
		require.NoError(t, err)
		require.Equal(t, len(tt.want), count, fmt.Sprint(tt.filter))
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.FailedEvents(t.Context(), tt.filter, after, 2)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), 2)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		require.Equal(t, tt.want, got, fmt.Sprint(tt.filter))
	}
}

// A filter that hardly any of the failed events meets is looked for page by page,
// and one that is FAILED in both tables is met once, wherever a page ends.
func TestFailedEventsOfAFilter(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, error_message)
		SELECT 'evt-' || i, CASE WHEN i % 400 = 0 THEN 'RARE' ELSE 'T' END, 'ADMIN', '1', '{}', 'FAILED', 'claimed 10 times'
		FROM   generate_series(1, 1600) i`)
	exec(t, s, "INSERT INTO processed_event (event_id, status) SELECT event_id, 'FAILED' FROM event_outbox WHERE seq % 2 = 0")
	for filter, want := range map[postgres.FailedEventFilter]int{{}: 1600, {EventType: "RARE"}: 4, {EventType: "NONE"}: 0} {
		count, err := s.CountFailedEvents(t.Context(), filter)
		require.NoError(t, err)
		require.Equal(t, want, count)
		seen := map[string]bool{}
		for after := ""; ; {
			page, err := s.FailedEvents(t.Context(), filter, after, 501)
			require.NoError(t, err)
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

// A page is read by the indexes of what failed, and by keys: never by reading a
// whole table, also while hardly anything has failed, or much.
func TestFailedEventsByIndex(t *testing.T) {
	t.Parallel()

	for _, every := range []int{5, 1000} {
		s := postgrestest.New(t)
		exec(t, s, `
			INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, error_message)
			SELECT 'evt-' || i, 'T', 'ADMIN', '1', '{}', CASE failed WHEN 0 THEN 'FAILED' ELSE 'PROCESSED' END,
			       CASE failed WHEN 0 THEN NULL ELSE now() END, CASE failed WHEN 0 THEN 'claimed 10 times' END
			FROM   (SELECT i, i % $1 AS failed FROM generate_series(1, 20000) i) e`, every)
		exec(t, s, `
			INSERT INTO processed_event (event_id, status)
			SELECT event_id, CASE seq % $1 WHEN 1 THEN 'FAILED' ELSE 'SUCCESS' END
			FROM   event_outbox
			WHERE  status = 'PROCESSED'`, every)
		exec(t, s, "ANALYZE event_outbox, processed_event")
		for _, filter := range []postgres.FailedEventFilter{{}, {EventType: "T"}, {EventType: "OTHER", Since: time.Now().Add(-time.Hour)}} {
			for _, plan := range plansOf(t, s, func(s *postgres.Store) error {
				_, err := s.FailedEvents(t.Context(), filter, "evt-1", 200)
				return err
			}) {
				require.Contains(t, plan, "event_outbox_failed_id")
				require.Contains(t, plan, "processed_event_failed_id")
				require.NotContains(t, plan, "Seq Scan", fmt.Sprint(every, filter))
			}
		}
	}
}

// queries keeps the last query that a store ran.
type queries struct {
	sql  string
	args []any
}

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	q.sql, q.args = data.SQL, data.Args
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// plansOf returns how the database would run the query that f runs: with these
// parameters, and with any, as it may plan a query that comes often.
func plansOf(t *testing.T, s *postgres.Store, f func(*postgres.Store) error) []string {
	t.Helper()
	seen := &queries{}
	config := s.Pool.Config()
	config.ConnConfig.Tracer = seen
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, f(&postgres.Store{Pool: pool}))

	sql, args := seen.sql, seen.args
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	explain := func(query string, args ...any) string {
		rows, err := tx.Query(t.Context(), query, args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return strings.Join(lines, "\n")
	}
	particular := explain("EXPLAIN "+sql, args...)
	_, err = tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "PREPARE any_of_them AS "+sql)
	require.NoError(t, err)
	general := explain("EXPLAIN EXECUTE any_of_them (" + strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ") + ")")
	_, err = tx.Exec(t.Context(), "DEALLOCATE any_of_them")
	require.NoError(t, err)
	return []string{particular, general}
}
