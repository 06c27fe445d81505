package activities_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// patience is how long a test waits for what should come in milliseconds.
const patience = time.Minute

// launcher is an EventLauncher that answers as it is told, and counts.
type launcher struct {
	answer func(event notification.PendingEvent) error // nil: started

	mu      sync.Mutex
	calls   map[string]int  // by event
	sources map[string]bool // which events were of
}

func (s *launcher) StartEvent(_ context.Context, event notification.PendingEvent) error {
	s.mu.Lock()
	if s.calls == nil {
		s.calls, s.sources = map[string]int{}, map[string]bool{}
	}
	s.calls[event.ID]++
	s.sources[event.Source] = true
	s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	return s.answer(event)
}

func (s *launcher) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// poller is a running PollOutbox.
type poller struct {
	worker chan struct{} // closed: the worker stops
	cancel context.CancelFunc
	done   chan struct{}
	result activities.PollOutboxResult
	err    error
	beats  atomic.Int64
}

// poll starts a poller that looks at its outbox every interval.
func poll(t *testing.T, outbox activities.Outbox, launcher activities.EventLauncher, source activities.Source) *poller {
	t.Helper()
	return pollMeasured(t, client.MetricsNopHandler, outbox, launcher, source)
}

func pollMeasured(t *testing.T, metrics client.MetricsHandler, outbox activities.Outbox, launcher activities.EventLauncher, source activities.Source) *poller {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{worker: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(metrics)
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.SetWorkerStopChannel(p.worker)
	source.Outbox = outbox
	a := &activities.Activities{Sources: map[string]activities.Source{"orders": source}, Launcher: launcher}
	env.RegisterActivity(a)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { p.beats.Add(1) })
	go func() {
		defer close(p.done)
		value, err := env.ExecuteActivity(a.PollOutbox, activities.PollOutboxInput{Source: "orders"})
		if p.err = err; err == nil {
			p.err = value.Get(&p.result)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	return p
}

// stop ends a poller as the shutdown of its worker does.
func (p *poller) stop(t *testing.T) activities.PollOutboxResult {
	t.Helper()
	close(p.worker)
	return p.wait(t)
}

func (p *poller) wait(t *testing.T) activities.PollOutboxResult {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "the poller does not end")
	}
	require.NoError(t, p.err)
	return p.result
}

// emit writes events evt-<from> to evt-<to> in one statement.
func emit(t *testing.T, s *postgres.Store, from, to int) {
	t.Helper()
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT 'evt-' || i, 'RESERVATION_REQUESTED', 'RESTAURANT', 5, '{}'
		FROM   generate_series($1::int, $2::int) AS i`, from, to)
}

func exec(t *testing.T, s *postgres.Store, sql string, args ...any) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// events counts the events that a condition holds for.
func events(t *testing.T, s *postgres.Store, condition string) int {
	t.Helper()
	var count int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM event_outbox WHERE "+condition).Scan(&count))
	return count
}

// await waits until a condition holds for so many events.
func await(t *testing.T, s *postgres.Store, want int, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return events(t, s, condition) == want }, patience, 5*time.Millisecond, condition)
}

// poisoned is a Temporal that refuses one event and cannot start another; when it
// comes to the sixth, it is out of reach.
func poisoned(event notification.PendingEvent) error {
	switch event.ID {
	case "evt-2":
		return serviceerror.NewInvalidArgument("bad id")
	case "evt-3":
		return serviceerror.NewInternal("who knows")
	case "evt-6":
		return serviceerror.NewUnavailable("nobody answers")
	default:
		return nil
	}
}
