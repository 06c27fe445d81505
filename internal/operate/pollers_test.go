package operate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/advice"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/relay"
)

var pollerStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// server is a Temporal with pollers of the prefix "test".
type server struct {
	client.Client
	mu      sync.Mutex
	status  map[string]enums.WorkflowExecutionStatus
	pending map[string]*workflowpb.PendingActivityInfo
	paused  map[string]*time.Time // the start of the pause; nil: unknown
	leaving map[string]bool       // told to stop, but no worker has ended them yet
	started map[string]enums.WorkflowIdConflictPolicy
	signals map[string][]any // by workflow and signal
	workers []time.Duration  // the time since each worker's last poll
	others  []string         // the task queues of other installations
	asked   string           // the last query
	looks   int
	onLook  func(looks int, s *server) // called before each description of a workflow
	err     error
}

// twoPollers is a server with two pollers that run, and one that has ended.
func twoPollers(workers ...time.Duration) *server {
	return &server{
		status: map[string]enums.WorkflowExecutionStatus{
			"test-outbox-poller-1": running, "test-outbox-poller-2": canceled, "test-outbox-poller-3": running,
		},
		paused: map[string]*time.Time{}, signals: map[string][]any{}, workers: workers,
	}
}

func (s *server) launcher() *launch.Launcher { return &launch.Launcher{Client: s, Prefix: "test"} }

func (s *server) DescribeWorkflow(ctx context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.onLook != nil {
		s.onLook(s.looks, s)
	}
	status, known := s.status[id]
	switch {
	case ctx.Err() != nil:
		return nil, serviceerror.NewDeadlineExceeded("late")
	case s.err != nil:
		return nil, s.err
	case !known:
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	description := &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status, StartTime: timestamppb.New(pollerStart)},
	}
	description.WorkflowExtendedInfo = &workflowpb.WorkflowExecutionExtendedInfo{CancelRequested: s.leaving[id]}
	if since, paused := s.paused[id]; paused {
		payload, err := converter.GetDefaultDataConverter().ToPayload(since)
		if since == nil {
			payload, err = converter.GetDefaultDataConverter().ToPayload("long ago")
		}
		if err != nil {
			return nil, err
		}
		description.WorkflowExecutionInfo.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{"paused_since": payload}}
	}
	if activity := s.pending[id]; activity != nil {
		description.PendingActivities = append(description.PendingActivities, activity)
	}
	return &client.WorkflowExecutionDescription{RawResponse: description}, nil
}

func (s *server) DescribeTaskQueue(
	_ context.Context, queue string, _ enums.TaskQueueType,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	if queue != "test-events" {
		return nil, fmt.Errorf("unexpected queue %s", queue)
	}
	description := &workflowservice.DescribeTaskQueueResponse{}
	for _, since := range s.workers {
		description.Pollers = append(description.Pollers,
			&taskqueuepb.PollerInfo{Identity: since.String(), LastAccessTime: timestamppb.New(time.Now().Add(-since))})
	}
	return description, nil
}

// WorkflowService returns a service without worker heartbeats.
func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return noHeartbeats{} }

type noHeartbeats struct {
	workflowservice.WorkflowServiceClient
}

func (noHeartbeats) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

// SignalWorkflow pauses or resumes the poller at once.
func (s *server) SignalWorkflow(_ context.Context, id, _, signal string, arg any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := id + " " + signal
	s.signals[key] = append(s.signals[key], arg)
	if signal == "resume" {
		delete(s.paused, id)
	} else if at, ok := arg.(time.Time); ok {
		s.paused[id] = &at
	}
	return nil
}

// CancelWorkflowWithOptions ends the poller at once.
func (s *server) CancelWorkflowWithOptions(_ context.Context, options client.CancelWorkflowOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status[options.WorkflowID] = canceled
	return nil
}

// ExecuteWorkflow records the conflict policy of each started workflow.
func (s *server) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if s.started == nil {
		s.started = map[string]enums.WorkflowIdConflictPolicy{}
	}
	s.started[options.ID] = options.WorkflowIDConflictPolicy
	return nil, s.err
}

func (s *server) ListWorkflow(
	_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.asked = request.GetQuery()
	found := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, queue := range s.others {
		found.Executions = append(found.Executions, &workflowpb.WorkflowExecutionInfo{TaskQueue: queue})
	}
	return found, s.err
}

// heralds returns Herald's outbox with this number of pollers.
func heralds(pollers int) []relay.Source {
	return []relay.Source{{Name: notification.HeraldSource, Pollers: pollers}}
}

func TestReadPollers(t *testing.T) {
	t.Parallel()

	beat, paused, start := pollerStart.Add(time.Minute), pollerStart.Add(time.Hour), pollerStart
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{
			"test-outbox-poller-1":  running,
			"test-outbox-poller-2":  canceled,
			"test-outbox-poller-4":  terminated, // more than are configured, and ended
			"test-outbox-poller-5":  running,
			"test-outbox-poller-6":  running,
			"test-outbox-poller-7":  running,
			"test-outbox-poller-8":  running,
			"test-outbox-poller-16": running, // started when more were configured
		},
		pending: map[string]*workflowpb.PendingActivityInfo{
			"test-outbox-poller-1": {
				LastHeartbeatTime: timestamppb.New(beat), Attempt: 3, LastFailure: &failurepb.Failure{Message: "heartbeat timeout"},
			},
			"test-outbox-poller-7": {State: enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, Attempt: 1}, // it finishes its page of events
			"test-outbox-poller-8": {State: enums.PENDING_ACTIVITY_STATE_STARTED, Attempt: 1},
		},
		paused: map[string]*time.Time{
			"test-outbox-poller-2": &paused, "test-outbox-poller-5": &paused, "test-outbox-poller-6": nil, "test-outbox-poller-8": &paused,
		},
		workers: []time.Duration{time.Second, 4 * time.Minute},
	}

	got := must(ReadPollers(t.Context(), temporal.launcher(), heralds(3)))(t)

	require.Len(t, got.ServedBy, 2)
	got.ServedBy = nil
	require.Equal(t, Pollers{TaskQueue: "test-events", Workers: 1, Pollers: []Poller{
		{ID: "test-outbox-poller-1", Source: notification.HeraldSource, Status: PollerRunning, Since: &start, LastHeartbeat: &beat, Attempt: 3,
			LastFailure: "heartbeat timeout"},
		{ID: "test-outbox-poller-2", Source: notification.HeraldSource, Status: "CANCELED", Since: &start},
		{ID: "test-outbox-poller-3", Source: notification.HeraldSource, Status: PollerNotStarted},
		{ID: "test-outbox-poller-5", Source: notification.HeraldSource, Status: PollerPaused, Since: &paused},
		{ID: "test-outbox-poller-6", Source: notification.HeraldSource, Status: PollerPaused},
		{ID: "test-outbox-poller-7", Source: notification.HeraldSource, Status: PollerPausing, Since: &start, Attempt: 1},
		{ID: "test-outbox-poller-8", Source: notification.HeraldSource, Status: PollerPausing, Since: &paused, Attempt: 1},
		{ID: "test-outbox-poller-16", Source: notification.HeraldSource, Status: PollerRunning, Since: &start},
	}}, got)

	temporal.err = errors.New("connection refused")
	_, err := ReadPollers(t.Context(), temporal.launcher(), heralds(1))
	require.ErrorIs(t, err, temporal.err)
}

func TestOtherInstallations(t *testing.T) {
	t.Parallel()

	temporal := &server{others: []string{"south-events", "north-events", "south-events"}}
	require.Equal(t, []string{"north-events", "south-events"}, must(OtherInstallations(t.Context(), temporal.launcher()))(t))
	require.Contains(t, temporal.asked, "TaskQueue != 'test-events'")

	temporal.err = errors.New("no visibility")
	_, err := OtherInstallations(t.Context(), temporal.launcher())
	require.ErrorIs(t, err, temporal.err)
}

func TestOrderPollers(t *testing.T) {
	t.Parallel()

	temporal := twoPollers(time.Second)
	o := &Operator{DB: postgrestest.New(t), Launcher: temporal.launcher(), Order: Order{Actor: "ada", Command: "poller"}}
	both := []string{"test-outbox-poller-1", "test-outbox-poller-3"}
	paused := func() []bool {
		return postgrestest.Get[[]bool](t, o.DB, "SELECT coalesce(array_agg(paused_since IS NOT NULL ORDER BY number), '{}') FROM poller")
	}
	require.NoError(t, o.StartPollers(t.Context(), heralds(2)))
	require.Equal(t, []bool{false, false}, paused())
	for range 2 { // a repeat changes nothing
		require.Equal(t, both, must(o.PausePollers(t.Context(), heralds(1)))(t))
		require.Len(t, temporal.paused, 2)
		require.Equal(t, []bool{true, true}, paused())
	}
	require.NoError(t, o.StartPollers(t.Context(), heralds(3)))
	require.Equal(t, []bool{true, true, false}, paused(), "paused pollers stay paused")
	for range 2 {
		require.Equal(t, both, must(o.ResumePollers(t.Context(), heralds(1)))(t))
		require.Empty(t, temporal.paused)
		require.Equal(t, []bool{false, false, false}, paused())
	}
	for _, orders := range temporal.signals {
		require.Len(t, orders, 2, "pollers get an order again, because the opposite order may still wait")
		require.IsIncreasing(t, []int64{orders[0].(time.Time).UnixNano(), orders[1].(time.Time).UnixNano()})
	}
	require.NoError(t, o.StopPollers(t.Context(), heralds(1), both))
	require.Equal(t, canceled, temporal.status[both[1]])
	require.Empty(t, paused())

	require.Equal(t, 15, postgrestest.Get[int](t, o.DB, "SELECT count(*) FROM operator_action"))
}

// A poller is lost if an operator wants it to run, and Temporal does not know it. Temporal knows a poller
// that has ended.
func TestLostPollers(t *testing.T) {
	t.Parallel()

	temporal := twoPollers(time.Second)
	o := &Operator{DB: postgrestest.New(t), Launcher: temporal.launcher()}
	require.Empty(t, must(LostPollers(t.Context(), o.Launcher, o.DB))(t))
	require.NoError(t, o.StartPollers(t.Context(), heralds(3)))
	postgrestest.Exec(t, o.DB, "UPDATE poller SET paused_since = '2026-11-21T08:00:00Z' WHERE number = 3")
	require.Empty(t, must(LostPollers(t.Context(), o.Launcher, o.DB))(t))

	delete(temporal.status, "test-outbox-poller-3")
	require.Equal(t, []event.Poller{{Source: notification.HeraldSource, Number: 3, PausedSince: pollerStart}},
		must(LostPollers(t.Context(), o.Launcher, o.DB))(t))

	temporal.err = errors.New("connection refused")
	_, err := LostPollers(t.Context(), o.Launcher, o.DB)
	require.ErrorIs(t, err, temporal.err)
}

// If no worker runs, a poller that was told to stop still runs, and ends once a worker comes. A
// start replaces it.
func TestStartPollersThatWereToldToStop(t *testing.T) {
	t.Parallel()

	temporal := twoPollers()
	temporal.paused["test-outbox-poller-1"] = &pollerStart
	temporal.leaving = map[string]bool{"test-outbox-poller-1": true, "test-outbox-poller-2": true}
	o := &Operator{DB: postgrestest.New(t), Launcher: temporal.launcher()}

	require.NoError(t, o.StartPollers(t.Context(), heralds(3)))

	require.Equal(t, map[string]enums.WorkflowIdConflictPolicy{
		"test-outbox-poller-1": enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		"test-outbox-poller-2": enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, // this poller has ended
		"test-outbox-poller-3": enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, temporal.started)

	found := must(ReadPollers(t.Context(), temporal.launcher(), append(heralds(1), relay.Source{Name: "orders", Pollers: 1})))(t)
	require.Equal(t, PollerStatus("STOPPING"), found.Pollers[0].Status)
	require.False(t, found.Pollers[0].hasEnded(), "`poller stop` waits for it")
	require.Equal(t, []string{"orders"}, found.Idle())
	temporal.status["test-outbox-poller-3"] = terminated
	found = must(ReadPollers(t.Context(), temporal.launcher(), heralds(1)))(t)
	require.Equal(t, []string{notification.HeraldSource}, found.Idle(), "a stopping poller starts nothing")

	temporal.err = errors.New("connection refused")
	require.ErrorIs(t, o.StartPollers(t.Context(), heralds(1)), temporal.err)
}

func TestOrderPollersFails(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name       string
		temporal   *server
		want, next string
	}{
		{name: "no poller", temporal: &server{workers: []time.Duration{0}}, want: "no poller runs", next: "`starter poller start` starts them"},
		{name: "no worker", temporal: twoPollers(), want: "no worker polls the task queue test-events; the order is kept until one does",
			next: "start a worker"},
		{name: "out of reach", temporal: &server{err: errors.New("connection refused")}, want: "connection refused"},
	}
	for _, tt := range tests {
		_, err := (&Operator{DB: postgrestest.New(t), Launcher: tt.temporal.launcher()}).PausePollers(t.Context(), heralds(1))

		require.ErrorContains(t, err, tt.want, tt.name)
		var advised *advice.Error
		if errors.As(err, &advised) {
			require.Contains(t, advised.Next, tt.next, tt.name)
		}
		require.Equal(t, tt.next != "", advised != nil, tt.name)
		require.Len(t, tt.temporal.signals, len(tt.temporal.status)*2/3, "all running pollers get the order, even without a worker")
	}
}

func TestAwaitPollers(t *testing.T) {
	t.Parallel()

	ids := []string{"a", "b"}
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{"a": running, "b": running},
		paused: map[string]*time.Time{"b": &pollerStart},
		onLook: func(looks int, s *server) {
			switch looks {
			case 3: // the second round
				s.status["a"] = canceled
			case 5: // the third round, which looks only at b
				delete(s.status, "b") // Temporal has deleted the workflow
			}
		},
	}
	o := &Operator{Launcher: temporal.launcher()}

	require.NoError(t, o.awaitPollers(t.Context(), ids, Poller.hasEnded, "still running", "start a worker"))
	require.Equal(t, 5, temporal.looks)
	require.NoError(t, o.awaitPollers(t.Context(), nil, Poller.hasEnded, "still running", "start a worker"))
}

func TestAwaitPollersIsBounded(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancelCause(t.Context())
	tooLong := errors.New("took longer than 1m")
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{"a": running},
		onLook: func(looks int, _ *server) {
			if looks == 2 {
				cancel(tooLong)
			}
		},
	}

	err := (&Operator{Launcher: temporal.launcher()}).awaitPollers(ctx, []string{"a"}, Poller.hasEnded, "still running", "start a worker")

	require.ErrorIs(t, err, tooLong)
	require.ErrorContains(t, err, "still running: a")
	var advised *advice.Error
	require.ErrorAs(t, err, &advised)
	require.Equal(t, "start a worker", advised.Next)
}
