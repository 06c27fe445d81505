package event_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

func TestClaimEventsInOrder(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 5)
	postgrestest.Exec(t, s, "UPDATE event_outbox SET correlation_id = 'corr-1', traceparent = '00-trace-span-01' WHERE event_id = 'evt-1'")

	first := claimEvents(t, s, "a", 3)
	require.Equal(t, []string{"evt-1", "evt-2", "evt-3"}, eventIDs(first))
	require.Equal(t, notification.PendingEvent{
		ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "corr-1",
		Traceparent: "00-trace-span-01", Claims: 1,
	}, first[0])
	require.Equal(t, []string{"evt-4", "evt-5"}, claim(t, s, "b", 3))
	require.Empty(t, claim(t, s, "c", 3))
}

// An insert takes a sequence number, and the commit makes it visible. So the row of a slow
// transaction appears behind later rows.
func TestClaimEventsFindsARowCommittedLate(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	slow := postgrestest.OpenTx(t, s, "SELECT 1")
	postgrestest.Add(t, slow, postgrestest.Event{ID: "late", Type: "RESERVATION_REQUESTED"})
	roomtest.Emit(t, s, 3)

	require.Equal(t, []string{"evt-1", "evt-2", "evt-3"}, claim(t, s, "a", 10))
	end(t, s, "a", notification.ClaimStarted, "evt-1", "evt-2", "evt-3")
	require.NoError(t, slow.Commit(t.Context()))

	require.Less(t, postgrestest.Get[int64](t, s, "SELECT seq FROM event_outbox WHERE event_id = 'late'"),
		postgrestest.Get[int64](t, s, "SELECT seq FROM event_outbox WHERE event_id = 'evt-1'"))
	require.Equal(t, []string{"late"}, claim(t, s, "b", 10))
}

// A claim skips a locked row, and does not wait for it.
func TestClaimEventsDoesNotWait(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 2)
	postgrestest.OpenTx(t, s, "SELECT FROM event_outbox WHERE event_id = 'evt-1' FOR UPDATE")

	require.Equal(t, []string{"evt-2"}, claim(t, s, "a", 10))
}

func TestEndClaim(t *testing.T) {
	t.Parallel()

	tests := []struct {
		outcome notification.ClaimOutcome
		err     string
		want    outboxRow
		known   bool // in processed_event
	}{
		{outcome: notification.ClaimStarted, want: outboxRow{Status: notification.OutboxProcessed, Claims: 1, Settled: true}, known: true},
		{outcome: notification.ClaimFailed, err: "payload too large",
			want: outboxRow{Status: notification.OutboxFailed, Claims: 1, Error: new("payload too large")}},
		{outcome: notification.ClaimReleased, want: outboxRow{Status: notification.OutboxPending, Claims: 0}},
		{outcome: notification.ClaimReleased, err: "unavailable",
			want: outboxRow{Status: notification.OutboxPending, Claims: 0, Error: new("unavailable")}},
		{outcome: notification.ClaimKept, err: "internal",
			want: outboxRow{Status: notification.OutboxPending, Claims: 1, Error: new("internal"), Leased: true}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(string(tt.outcome)+" "+tt.err, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.Emit(t, s, 2)
			claim(t, s, "a", 2)
			require.NoError(t,
				event.On(s).EndClaim(t.Context(), "a", []notification.ClaimResult{{EventID: "evt-1", Outcome: tt.outcome, Error: tt.err}}))

			require.Equal(t, tt.want, outboxOf(t, s, "evt-1"))
			require.Equal(t, tt.known, postgrestest.Get[bool](t, s, "SELECT EXISTS (SELECT FROM processed_event WHERE event_id = 'evt-1')"))
			require.Equal(t, outboxRow{Status: notification.OutboxPending, Claims: 1, Leased: true}, outboxOf(t, s, "evt-2"))
		})
	}
}

// A poller that stalls past its lease finds that its events belong to another poller.
func TestEndClaimOfAStalledPoller(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 3)
	claim(t, s, "stalled", 3)
	endLeases(t, s)
	claim(t, s, "next", 2)
	end(t, s, "next", notification.ClaimStarted, "evt-1")

	err := event.On(s).EndClaim(t.Context(), "stalled", []notification.ClaimResult{
		{EventID: "evt-1", Outcome: notification.ClaimFailed, Error: "from the past"},
		{EventID: "evt-2", Outcome: notification.ClaimFailed, Error: "from the past"},
		{EventID: "evt-3", Outcome: notification.ClaimStarted},
	})

	require.NoError(t, err)
	require.Equal(t, outboxRow{Status: notification.OutboxProcessed, Claims: 2, Settled: true}, outboxOf(t, s, "evt-1"))
	require.Equal(t, outboxRow{Status: notification.OutboxPending, Claims: 2, Leased: true}, outboxOf(t, s, "evt-2"))
	require.Equal(t, notification.OutboxProcessed, outboxOf(t, s, "evt-3").Status, "nobody else claimed it")
}

func TestClaimEventsKnowsDuplicates(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 2)
	postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{Status: notification.ProcessedSuccess})

	events := claimEvents(t, s, "a", 2)
	require.True(t, events[0].Processed)
	require.False(t, events[1].Processed)

	end(t, s, "a", notification.ClaimStarted, "evt-1", "evt-2")
	require.Equal(t, "SUCCESS", processed(t, s, "evt-1"), "the earlier status stays")
	require.Equal(t, "PROCESSING", processed(t, s, "evt-2"))
}

func TestOutboxState(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	state := roomtest.Must(event.On(s).OutboxState(t.Context()))(t)
	require.Equal(t, notification.OutboxState{}, state)

	roomtest.Emit(t, s, 4)
	postgrestest.Exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '3 days' WHERE event_id = 'evt-1'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now() WHERE event_id = 'evt-1'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET status = 'FAILED', error_message = 'refused' WHERE event_id = 'evt-2'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '2 days' WHERE event_id = 'evt-3'")
	state = roomtest.Must(event.On(s).OutboxState(t.Context()))(t)
	require.Equal(t, 2, state.Pending)
	require.Equal(t, 1, state.Failed)
	require.Equal(t, 48*time.Hour, state.OldestPending.Truncate(time.Hour))

	postgrestest.Exec(t, s, "UPDATE event_outbox SET created_at = now() + interval '1 hour'")
	state = roomtest.Must(event.On(s).OutboxState(t.Context()))(t)
	require.Equal(t, notification.OutboxState{Pending: 2, Failed: 1}, state, "events of a clock ahead of the database's have no negative age")
}

func TestListenEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	wakes := roomtest.Listen(t, event.On(s).ListenEvents)
	roomtest.AwaitWake(t, wakes) // for rows from before it listened
	roomtest.Emit(t, s, 1)
	roomtest.AwaitWake(t, wakes)

	require.Positive(t, postgrestest.Get[int](t, s, `
		SELECT count(pg_terminate_backend(pid))
		FROM   pg_stat_activity
		WHERE  datname = current_database() AND query = 'LISTEN event_outbox'`))
	roomtest.AwaitWake(t, wakes) // it listens again
	roomtest.EmitEvent(t, s, "evt-2")
	roomtest.AwaitWake(t, wakes)
}

// Each statement notifies once, however many rows it writes.
func TestNotifyOncePerStatement(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	wakes := roomtest.Listen(t, event.On(s).ListenEvents)
	roomtest.AwaitWake(t, wakes)
	postgrestest.AddMany(t, s.Pool, 2, postgrestest.Event{}, postgrestest.Expressions{"event_id": "'evt-' || i"})
	roomtest.AwaitWake(t, wakes)
	postgrestest.Exec(t, s, "NOTIFY event_outbox, 'the last'")
	roomtest.AwaitWake(t, wakes)
	require.Empty(t, wakes)
}

// A claim reads as many rows as it takes, however many wait behind them. This also holds
// for a connection whose first claims were for few rows.
func TestClaimEventsReadsOnlyClaimedRows(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	listening, asked := roomtest.Heard(t, s)
	for i := range 7 { // after five, a connection keeps the plan of a prepared statement
		roomtest.EmitEvent(t, s, fmt.Sprint("first-", i))
		claim(t, listening, "a", 1)
	}
	roomtest.EmitMany(t, s, 20_000)

	claim(t, listening, "b", 100)

	last := asked.All[len(asked.All)-1]
	require.Equal(t, pgx.QueryExecModeExec, last.Args[0], "the statement is planned for the current rows")
	require.Less(t, roomtest.BlocksOf(t, s, last), 2500)
}

// While a session holds an old snapshot, most claims do not read processed rows again.
func TestClaimEventsDuringAnOldSnapshot(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	old := roomtest.Must(s.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))(t)
	defer func() { _ = old.Rollback(t.Context()) }()
	roomtest.Must(old.Exec(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0"))(t) // for as long as the test takes
	roomtest.Must(old.Exec(t.Context(), "SELECT FROM event_outbox"))(t)
	listening, asked := roomtest.Heard(t, s)
	poller := event.On(listening)
	for range 5 {
		roomtest.EmitMany(t, s, 1000)
		end(t, s, "a", notification.ClaimStarted, eventIDs(roomtest.Must(poller.ClaimEvents(t.Context(), "a", 1000, lease))(t))...)
	}
	postgrestest.Exec(t, s, "ANALYZE event_outbox") // the planner believes that nothing is pending
	cost := func(poller event.Store) int {
		roomtest.Must(poller.ClaimEvents(t.Context(), "a", 100, lease))(t)
		return roomtest.BlocksOf(t, s, asked.All[len(asked.All)-1])
	}

	require.Greater(t, cost(event.On(listening)), 4000, "the first claim of a process looks at all rows")
	require.Eventually(t, func() bool {
		roomtest.Must(poller.ClaimEvents(t.Context(), "a", 100, lease))(t)
		return cost(poller) < 100
	}, time.Minute, 50*time.Millisecond, "the floor follows the claims")
}
