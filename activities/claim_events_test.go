package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"herald/activities"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
)

// If Temporal is out of reach or refuses every event, no event is at fault. The whole backlog
// waits, no claim counts, and the events start when Temporal works again.
func TestPollOutboxSystemicFailure(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		failure error
		untried bool // the other events of the batch are given back without a try
	}{
		{name: "out of reach", failure: serviceerror.NewUnavailable("connection refused"), untried: true},
		{name: "refused", failure: serviceerror.NewInvalidArgument("the task queue is too long")},
		{name: "internal", failure: serviceerror.NewInternal("who knows")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			const n = 50
			s := postgrestest.New(t)
			var refused atomic.Int32
			var broken atomic.Bool
			broken.Store(true)
			temporal := &launcher{answer: func(notification.PendingEvent) error {
				if broken.Load() {
					refused.Add(1)
					return tt.failure
				}
				return nil
			}}
			emit(t, s, 1, n)
			p := poll(t, event.On(s), temporal, eager)
			require.Eventually(t, func() bool { return refused.Load() >= 3 }, patience, time.Millisecond)
			await(t, s, n, "status = 'PENDING' AND attempt_count = 0 AND lease_owner IS NULL")
			broken.Store(false)
			await(t, s, n, "status = 'PROCESSED' AND attempt_count = 1 AND error_message IS NULL")

			result := p.stop(t)
			require.Equal(t, n, result.Started)
			require.GreaterOrEqual(t, result.Released, n)
			require.Equal(t, tt.untried, int(refused.Load()) < result.Released)
			require.Zero(t, result.Failed)
		})
	}
}

// If a batch has one event, the event may be at fault, so Herald does not try it forever.
func TestPollOutboxWithASingleEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := &launcher{answer: func(notification.PendingEvent) error { return serviceerror.NewInvalidArgument("bad id") }}
	emit(t, s, 1, 1)
	p := poll(t, event.On(s), temporal, eager)
	for claims := 1; claims <= 10; claims++ {
		await(t, s, 1, fmt.Sprintf("status = 'PENDING' AND attempt_count = %d AND lease_until > now() AND error_message = 'bad id'", claims))
		endLeases(t, s)
	}
	await(t, s, 1, "status = 'FAILED' AND error_message = 'claimed 10 times without an end'")

	require.Equal(t, 1, p.stop(t).Failed)
	require.Equal(t, 10, temporal.count("evt-1"))
}

// If Temporal's answer says nothing about the one event of a batch, no claim counts.
func TestPollOutboxWithASingleEventAndABrokenServer(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var broken atomic.Bool
	broken.Store(true)
	temporal := &launcher{answer: func(notification.PendingEvent) error {
		if broken.Load() {
			return serviceerror.NewInternal("who knows")
		}
		return nil
	}}
	emit(t, s, 1, 1)
	p := poll(t, event.On(s), temporal, eager)
	require.Eventually(t, func() bool { return temporal.count("evt-1") >= 4 }, patience, time.Millisecond)
	require.LessOrEqual(t, postgrestest.Get[int](t, s, "SELECT attempt_count FROM event_outbox"), 1, "the claim under way")
	broken.Store(false)
	await(t, s, 1, "status = 'PROCESSED' AND attempt_count = 1")
	require.Zero(t, p.stop(t).Failed)
}

// If another workflow has its id, an event fails, for any result of the other events. The failure
// names the workflow.
func TestPollOutboxIDTaken(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var broken atomic.Bool
	broken.Store(true)
	temporal := &launcher{answer: func(event notification.PendingEvent) error {
		switch {
		case event.ID == "evt-1" || event.ID == "evt-2":
			return &notification.IDTakenError{WorkflowType: "Digest", TaskQueue: "herald-email"}
		case broken.Load():
			return serviceerror.NewInternal("who knows")
		default:
			return nil
		}
	}}
	emit(t, s, 1, 4)
	p := poll(t, event.On(s), temporal, eager)
	await(t, s, 2, "status = 'FAILED' AND error_message = 'the id is taken by the workflow Digest of task queue herald-email'")
	await(t, s, 2, "status = 'PENDING' AND attempt_count = 0")
	broken.Store(false)
	await(t, s, 2, "status = 'PROCESSED'")

	require.Equal(t, 2, p.stop(t).Failed)
}

// patience is the time that a test waits for a change that takes milliseconds.
const patience = time.Minute

// launcher is an EventLauncher that returns a test's answers, and counts the calls.
type launcher struct {
	answer func(event notification.PendingEvent) error // nil: started

	mu      sync.Mutex
	calls   map[string]int  // by event
	sources map[string]bool // the sources of the events
}

func (s *launcher) StartEvent(_ context.Context, event notification.PendingEvent, _ bool) error {
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

func (s *launcher) StartsEagerly(context.Context) bool { return true }

func (s *launcher) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// running is an activity that runs in the background until the end of the test.
type running[Result any] struct {
	worker chan struct{} // closed: the worker stops
	cancel context.CancelFunc
	done   chan struct{}
	result Result
	err    error
	beats  atomic.Int64
}

func begin[Result any](t *testing.T, a *activities.Activities, metrics client.MetricsHandler, activityFunction any,
	in ...any) *running[Result] {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running[Result]{worker: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	env := newEnv(a, metrics)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.SetWorkerStopChannel(r.worker)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { r.beats.Add(1) })
	go func() {
		defer close(r.done)
		r.result, r.err = execute[Result](env, activityFunction, in...)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// stop ends the activity like the shutdown of its worker.
func (r *running[Result]) stop(t *testing.T) Result {
	t.Helper()
	close(r.worker)
	select {
	case <-r.done:
	case <-time.After(patience):
		require.Fail(t, "the activity does not end")
	}
	require.NoError(t, r.err)
	return r.result
}

type poller = running[activities.PollOutboxResult]

// poll starts a poller that looks at its outbox every interval.
func poll(t *testing.T, outbox activities.Outbox, launcher activities.EventLauncher, source activities.Source) *poller {
	t.Helper()
	return pollMeasured(t, client.MetricsNopHandler, outbox, launcher, source)
}

func pollMeasured(t *testing.T, metrics client.MetricsHandler, outbox activities.Outbox, launcher activities.EventLauncher,
	source activities.Source) *poller {
	t.Helper()
	source.Outbox = outbox
	a := &activities.Activities{Sources: map[string]activities.Source{"orders": source}, Launcher: launcher}
	return begin[activities.PollOutboxResult](t, a, metrics, a.PollOutbox, activities.PollOutboxInput{Source: "orders"})
}

// emit writes events evt-<from> to evt-<to> in one statement.
func emit(t *testing.T, s *db.DB, from, to int) {
	t.Helper()
	postgrestest.AddMany(t, s.Pool, to-from+1,
		postgrestest.Event{Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5"},
		postgrestest.Expressions{"event_id": fmt.Sprintf("'evt-' || %d + i", from-1)})
}

func exec(t *testing.T, s *db.DB, sql string, args ...any) {
	t.Helper()
	must(s.Pool.Exec(t.Context(), sql, args...))(t)
}

// events counts the events for which a condition holds.
func events(t *testing.T, s *db.DB, condition string) int {
	t.Helper()
	return get[int](t, s, "SELECT count(*) FROM event_outbox WHERE "+condition)
}

// await waits until a condition holds for `want` events.
func await(t *testing.T, s *db.DB, want int, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return events(t, s, condition) == want }, patience, 5*time.Millisecond, condition)
}

// poisoned is a Temporal that refuses one event and cannot start another. From the sixth
// event on, it is out of reach.
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

// oneEvent is an outbox with one event, which is claimed once.
type oneEvent struct {
	claimed bool
	ended   chan notification.ClaimResult
}

func (o *oneEvent) ClaimEvents(context.Context, string, int, time.Duration) ([]notification.PendingEvent, error) {
	if o.claimed {
		return nil, nil
	}
	o.claimed = true
	return []notification.PendingEvent{{ID: "evt-1", Claims: 1}}, nil
}

func (o *oneEvent) EndClaim(_ context.Context, _ string, results []notification.ClaimResult) error {
	o.ended <- results[0]
	return nil
}

func (o *oneEvent) ListenEvents(context.Context, func()) {}

// Every answer of Temporal to the start of a workflow, for the only event of a batch.
func TestStartFailure(t *testing.T) {
	t.Parallel()

	outcomes := map[codes.Code]notification.ClaimOutcome{
		codes.OK:                 notification.ClaimStarted,
		codes.InvalidArgument:    notification.ClaimKept, // the only event; if another event was started, this one is FAILED
		codes.Canceled:           notification.ClaimReleased,
		codes.DeadlineExceeded:   notification.ClaimReleased,
		codes.NotFound:           notification.ClaimReleased,
		codes.PermissionDenied:   notification.ClaimReleased,
		codes.ResourceExhausted:  notification.ClaimReleased,
		codes.Aborted:            notification.ClaimReleased,
		codes.Unavailable:        notification.ClaimReleased,
		codes.Unauthenticated:    notification.ClaimReleased,
		codes.Unknown:            notification.ClaimReleased,
		codes.AlreadyExists:      notification.ClaimReleased,
		codes.FailedPrecondition: notification.ClaimReleased,
		codes.OutOfRange:         notification.ClaimReleased,
		codes.Unimplemented:      notification.ClaimReleased,
		codes.Internal:           notification.ClaimReleased,
		codes.DataLoss:           notification.ClaimReleased,
	}
	const codesOfGRPC = 17
	require.Len(t, outcomes, codesOfGRPC)
	type start struct {
		err  error
		want notification.ClaimOutcome
	}
	tests := map[string]start{
		"our deadline":        {context.DeadlineExceeded, notification.ClaimReleased},
		"our cancellation":    {fmt.Errorf("start: %w", context.Canceled), notification.ClaimReleased},
		"namespace not found": {serviceerror.NewNamespaceNotFound("herald"), notification.ClaimReleased},
		"id taken":            {&notification.IDTakenError{WorkflowType: "Digest", TaskQueue: "herald-email"}, notification.ClaimFailed},
		"no such attribute": {serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute HeraldEventType"),
			notification.ClaimReleased},
		"no gRPC error": {errors.New("encode payload"), notification.ClaimReleased},
	}
	for code, want := range outcomes {
		err := serviceerror.FromStatus(status.New(code, "why"))
		if tests[code.String()] = (start{err, want}); err != nil {
			tests[code.String()+" wrapped"] = start{fmt.Errorf("start: %w", err), want}
		}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireOutcome(t, tt.err, tt.want)
		})
	}
}

func requireOutcome(t *testing.T, err error, want notification.ClaimOutcome) {
	t.Helper()
	outbox := &oneEvent{ended: make(chan notification.ClaimResult, 1)}
	p := poll(t, outbox, &launcher{answer: func(notification.PendingEvent) error { return err }}, lazy)
	var got notification.ClaimResult
	select {
	case got = <-outbox.ended:
	case <-time.After(patience):
		require.Fail(t, "the claim does not end")
	}
	p.stop(t)

	text := ""
	if err != nil {
		text = err.Error()
	}
	require.Equal(t, notification.ClaimResult{EventID: "evt-1", Outcome: want, Error: text}, got)
}

// get reads one value.
func get[T any](t *testing.T, s *db.DB, query string, args ...any) (value T) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), query, args...).Scan(&value))
	return value
}
