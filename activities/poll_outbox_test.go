package activities_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/relay/dialects/dialecttest"
)

var (
	eager = activities.Source{Interval: 10 * time.Millisecond, BatchSize: 100}
	// lazy reads its outbox once an hour: only a hint wakes it.
	lazy = activities.Source{Interval: time.Hour, BatchSize: 100}
)

func TestPollOutboxRace(t *testing.T) {
	t.Parallel()

	const n = 2000
	s, temporal := postgrestest.New(t), &launcher{}
	emit(t, s, 1, n)
	first, second := poll(t, event.On(s), temporal, eager), poll(t, event.On(s), temporal, eager)
	await(t, s, n, "status = 'PROCESSED'")

	require.Equal(t, n, first.stop(t).Started+second.stop(t).Started)
	for i := 1; i <= n; i++ {
		require.Equal(t, 1, temporal.count(fmt.Sprintf("evt-%d", i)), "evt-%d", i)
	}
	require.Equal(t, n, get[int](t, s, "SELECT count(*) FROM processed_event WHERE status = 'PROCESSING'"))
	require.Equal(t, n, events(t, s, "attempt_count = 1 AND published_at IS NOT NULL AND lease_owner IS NULL"))
}

func TestPollOutboxDuplicates(t *testing.T) {
	t.Parallel()

	s, temporal := postgrestest.New(t), &launcher{}
	postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{Status: notification.ProcessedSuccess})
	emit(t, s, 1, 2)
	p := poll(t, event.On(s), temporal, eager)
	await(t, s, 2, "status = 'PROCESSED'")
	p.stop(t)

	require.Zero(t, temporal.count("evt-1"))
	require.Equal(t, 1, temporal.count("evt-2"))
	require.Equal(t, map[string]bool{"orders": true}, temporal.sources)
}

// A worker that does not know a source returns an error, and leaves it to another worker.
func TestPollOutboxOfAnUnknownSource(t *testing.T) {
	t.Parallel()

	a := &activities.Activities{Sources: map[string]activities.Source{notification.HeraldSource: {}}}
	_, err := run[activities.PollOutboxResult](a, a.PollOutbox, activities.PollOutboxInput{Source: "orders"})
	requireFailure(t, err, activities.UnknownSource, false, 5*time.Second)
	require.ErrorContains(t, err, `"orders"`)
}

// forgetful is an outbox whose database is out of reach at the end of the first claim.
type forgetful struct {
	event.Store
	failed atomic.Bool
}

func (f *forgetful) EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error {
	if f.failed.CompareAndSwap(false, true) {
		return errors.New("connection reset")
	}
	return event.On(f.DB).EndClaim(ctx, owner, results)
}

func TestPollOutboxLosesNothingWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()

	outbox, temporal, m := &forgetful{Store: event.On(postgrestest.New(t))}, &launcher{}, newMeters()
	emit(t, outbox.DB, 1, 2)
	p := pollMeasured(t, m.handler(), outbox, temporal, eager)
	require.Eventually(t, outbox.failed.Load, patience, time.Millisecond)
	require.Equal(t, 2, events(t, outbox.DB, "status = 'PENDING' AND lease_owner IS NOT NULL"))
	endLeases(t, outbox.DB)
	await(t, outbox.DB, 2, "status = 'PROCESSED'")
	p.stop(t)

	require.Equal(t, 2, temporal.count("evt-1"), "the second start finds the workflow of the first")
	require.Equal(t, map[string]int64{"herald_outbox_claims": 4, "herald_outbox_results STARTED": 2}, m.counted(),
		"each event is counted once")
}

func endLeases(t *testing.T, s *db.DB) {
	t.Helper()
	exec(t, s, "UPDATE event_outbox SET lease_until = now() - interval '1 second', error_message = NULL WHERE lease_owner IS NOT NULL")
}

// endLeasesAndEmit lets one batch claim the event with the events whose leases it ends.
func endLeasesAndEmit(t *testing.T, s *db.DB, event int) {
	t.Helper()
	tx := must(s.Pool.Begin(t.Context()))(t)
	must(tx.Exec(t.Context(),
		"UPDATE event_outbox SET lease_until = now() - interval '1 second', error_message = NULL WHERE lease_owner IS NOT NULL"))(t)
	postgrestest.Add(t, tx,
		postgrestest.Event{ID: fmt.Sprint("evt-", event), Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5"})
	require.NoError(t, tx.Commit(t.Context()))
}

// everyRow claims from the first row each time, like a poller that has just begun. So events that are
// free at once are claimed together.
type everyRow struct{ event.Store }

func (e everyRow) ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error) {
	return event.On(e.DB).ClaimEvents(ctx, owner, limit, lease)
}

// Temporal refuses the second of five events, and fails to start the third. Only these two wait or
// fail.
func TestPollOutboxWithRefusedEvents(t *testing.T) {
	t.Parallel()

	s, temporal, m := postgrestest.New(t), &launcher{answer: poisoned}, newMeters()
	emit(t, s, 1, 5)
	p := pollMeasured(t, m.handler(), everyRow{event.On(s)}, temporal, eager)

	await(t, s, 3, "status = 'PROCESSED'")
	want := map[string]int64{
		"herald_outbox_claims": 5, "herald_outbox_results STARTED": 3, "herald_outbox_results FAILED": 1, "herald_outbox_results KEPT": 1,
	}
	require.Eventually(t, func() bool { return maps.Equal(want, m.counted()) }, patience, time.Millisecond)
	require.Equal(t, 1,
		events(t, s, "event_id = 'evt-2' AND status = 'FAILED' AND error_message = 'bad id' AND attempt_count = 1 AND lease_owner IS NULL"))
	require.Equal(t, 1,
		events(t, s, "event_id = 'evt-3' AND status = 'PENDING' AND error_message = 'who knows' AND attempt_count = 1 AND lease_until > now()"))

	const companions = 9 // alone, evt-3 counts no claim
	for claims := 2; claims <= 1+companions; claims++ {
		endLeasesAndEmit(t, s, 10+claims)
		await(t, s, 1, fmt.Sprintf("event_id = 'evt-3' AND attempt_count = %d AND lease_until > now() AND error_message IS NOT NULL", claims))
	}
	require.Equal(t, 1, events(t, s, "event_id = 'evt-3' AND status = 'PENDING'"))
	endLeases(t, s)
	await(t, s, 1, "event_id = 'evt-3' AND status = 'FAILED' AND error_message = 'claimed 10 times without an end'")

	emit(t, s, 6, 6)
	require.Eventually(t, func() bool { return m.counted()["herald_outbox_results RELEASED"] > 0 }, patience, time.Millisecond)
	result := p.stop(t)
	require.Equal(t, activities.PollOutboxResult{Started: 3 + companions, Failed: 2, Released: result.Released}, result)
	require.GreaterOrEqual(t, temporal.count("evt-3"), 10)
	counted := m.counted()
	require.Equal(t, counted["herald_outbox_claims"]-5-companions-10, counted["herald_outbox_results RELEASED"])
}

func TestPollOutboxFindsEvents(t *testing.T) {
	t.Parallel()

	const withoutHints = "DROP TRIGGER event_outbox_notify ON event_outbox"
	tests := []struct {
		name    string
		prepare string
		source  activities.Source
		upTo    []int // the last event of each transaction; the first transaction commits before the poller starts
	}{
		{name: "by polling", prepare: withoutHints, source: eager, upTo: []int{1, 2, 3}},
		{name: "by a hint", source: lazy, upTo: []int{1, 2, 3}},
		{name: "after a full batch at once", prepare: withoutHints, source: activities.Source{Interval: time.Hour, BatchSize: 2}, upTo: []int{9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			exec(t, s, tt.prepare)
			emit(t, s, 1, tt.upTo[0])
			p := poll(t, event.On(s), &launcher{}, tt.source)
			await(t, s, tt.upTo[0], "status = 'PROCESSED'")
			for _, n := range tt.upTo[1:] {
				emit(t, s, n, n)
				await(t, s, n, "status = 'PROCESSED'")
			}
			require.Equal(t, tt.upTo[len(tt.upTo)-1], p.stop(t).Started)
		})
	}
}

// Cut the listening connection, then all connections.
func TestPollOutboxSurvivesLostConnections(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	poll(t, event.On(s), &launcher{}, lazy)
	for i, victims := range []string{"query = 'LISTEN event_outbox'", "pid <> pg_backend_pid()"} {
		emit(t, s, 2*i+1, 2*i+1)
		await(t, s, 2*i+1, "status = 'PROCESSED'")
		try(t, s, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "+victims)
		try(t, s, insertOne, fmt.Sprintf("evt-%d", 2*i+2))
		require.Eventually(t, func() bool {
			// If a claim could not end because its connection was cut, the events wait for the
			// lease.
			_, _ = s.Pool.Exec(t.Context(), "UPDATE event_outbox SET lease_until = now() WHERE lease_owner IS NOT NULL")
			var done int
			err := s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM event_outbox WHERE status = 'PROCESSED'").Scan(&done)
			return err == nil && done == 2*i+2
		}, patience, 100*time.Millisecond)
	}
}

const insertOne = `
	INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	VALUES ($1, 'T', 'RESTAURANT', 5, '{}')`

// try repeats a statement until it runs and matches a row.
func try(t *testing.T, s *db.DB, sql string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		tag, err := s.Pool.Exec(t.Context(), sql, args...)
		return err == nil && tag.RowsAffected() > 0
	}, patience, 5*time.Millisecond)
}

// A poller that has to stop ends its claims, and claims no more events.
func TestPollOutboxStopsBetweenBatches(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		stop func(p *poller)
	}{
		{"worker stops", func(p *poller) { close(p.worker) }},
		{"cancelled", func(p *poller) { p.cancel() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			claimed, goOn := make(chan struct{}, 10), make(chan struct{})
			temporal := &launcher{answer: func(notification.PendingEvent) error {
				claimed <- struct{}{}
				<-goOn
				return nil
			}}
			emit(t, s, 1, 6)
			p := poll(t, event.On(s), temporal, activities.Source{Interval: time.Hour, BatchSize: 3})
			<-claimed
			tt.stop(p)
			close(goOn)
			<-p.done

			require.Equal(t, 3, events(t, s, "status = 'PROCESSED'"))
			require.Equal(t, 3, events(t, s, "status = 'PENDING' AND lease_owner IS NULL AND attempt_count = 0"))
		})
	}
}

// While a poller ends its last batch, it heartbeats. Otherwise Temporal would take it for
// dead, and its workflow would show "paused" while it still starts events.
func TestPollOutboxHeartbeatsToTheEnd(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	claimed, goOn := make(chan struct{}), make(chan struct{})
	temporal := &launcher{answer: func(notification.PendingEvent) error {
		close(claimed)
		<-goOn
		return nil
	}}
	emit(t, s, 1, 1)
	p := poll(t, event.On(s), temporal, lazy)
	defer close(goOn)
	<-claimed
	p.cancel()
	before := p.beats.Load()
	require.Eventually(t, func() bool { return p.beats.Load() > before }, patience, time.Millisecond)
}

// Of two transactions that commit together, only one sends a hint. The other may commit after the
// poller's read, so the poller reads again without a hint.
func TestPollOutboxLooksAgainAfterAHint(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	p := poll(t, event.On(s), &launcher{}, lazy)
	found := false
	for i := 1; i < 100 && !found; i += 2 { // a slow machine needs more tries
		first := must(s.Pool.Begin(t.Context()))(t)
		second := must(s.Pool.Begin(t.Context()))(t)
		must(first.Exec(t.Context(), insertOne, fmt.Sprintf("evt-%d", i)))(t)
		must(second.Exec(t.Context(), insertOne, fmt.Sprintf("evt-%d", i+1)))(t)
		require.NoError(t, first.Commit(t.Context()))
		await(t, s, i, "status = 'PROCESSED'")
		require.NoError(t, second.Commit(t.Context()))
		for until := time.Now().Add(3 * time.Second); !found && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			found = events(t, s, "status = 'PROCESSED'") == i+1
		}
	}
	require.True(t, found)
	p.stop(t)
}

// ordersOf claims the events that were adopted from a service's rows.
type ordersOf struct{ event.Store }

func (o ordersOf) ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error) {
	return event.On(o.DB).ClaimEventsOf(ctx, "orders", owner, limit, lease)
}

// The poller of a service's outbox adopts its rows, and starts the workflows of its events.
func TestPollOutboxOfAService(t *testing.T) {
	t.Parallel()

	source := relay.Source{
		Name: "orders", Dialect: relay.OrderService, DatabaseURL: postgrestest.URL(t), Table: "public.outbox",
		PollInterval: 10 * time.Millisecond, BatchSize: 10, Pollers: 1, People: true,
	}
	business := must(db.Open(t.Context(), source.DatabaseURL, "business"))(t)
	t.Cleanup(business.Close)
	exec(t, business, dialecttest.Orders("outbox"))
	exec(t, business,
		`INSERT INTO outbox (aggregate_type, event_type, payload, status, created_at) SELECT 'Order', 'OrderCreated', '{}', 'NEW', now() `+
			`FROM generate_series(1, 25)`)
	table := must(dialects.Open(t.Context(), source))(t)
	t.Cleanup(table.Close)
	herald := postgrestest.New(t)

	started := &launcher{}
	p := poll(t, ordersOf{event.On(herald)}, started,
		activities.Source{Mover: &relay.Mover{Source: source, Table: table, Memory: relay.On(herald)}, Interval: 10 * time.Millisecond,
			BatchSize: 10})
	await(t, herald, 25, "source = 'orders' AND status = 'PROCESSED'")
	require.Eventually(t, func() bool { return get[int](t, business, "SELECT count(*) FROM outbox WHERE status = 'SENT'") == 25 }, patience,
		5*time.Millisecond)
	result := p.stop(t)
	require.Equal(t, 25, result.Sent)
	require.Equal(t, 25, result.Started)
	require.True(t, started.sources["orders"])
}
