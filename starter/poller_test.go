package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// server is a Temporal with pollers of the prefix "test".
type server struct {
	mu      sync.Mutex
	status  map[string]enums.WorkflowExecutionStatus
	pending map[string]*workflowpb.PendingActivityInfo
	paused  map[string]*time.Time // since when; nil: not known
	signals map[string][]any      // by workflow and name
	workers []time.Duration       // since each asked for a task
	looks   int
	onLook  func(looks int, s *server) // called at each description of a workflow
	err     error
}

var pollerStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func (s *server) DescribeWorkflowExecution(ctx context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
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
	return description, nil
}

func (s *server) DescribeTaskQueue(_ context.Context, queue string, _ enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	if queue != "test-events" {
		return nil, fmt.Errorf("unexpected queue %s", queue)
	}
	description := &workflowservice.DescribeTaskQueueResponse{}
	for _, since := range s.workers {
		description.Pollers = append(description.Pollers, &taskqueuepb.PollerInfo{LastAccessTime: timestamppb.New(time.Now().Add(-since))})
	}
	return description, nil
}

// SignalWorkflow obeys at once.
func (s *server) SignalWorkflow(_ context.Context, id, _, signal string, arg any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	key := id + " " + signal
	s.signals[key] = append(s.signals[key], arg)
	if signal == "resume" {
		delete(s.paused, id)
	} else if at, ok := arg.(time.Time); ok {
		s.paused[id] = &at
	}
	return nil
}

func TestReadPollers(t *testing.T) {
	t.Parallel()

	beat, paused := pollerStart.Add(time.Minute), pollerStart.Add(time.Hour)
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{
			"test-outbox-poller-1":  enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-2":  enums.WORKFLOW_EXECUTION_STATUS_CANCELED,
			"test-outbox-poller-4":  enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, // more than expected, and ended
			"test-outbox-poller-5":  enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-6":  enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-7":  enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-8":  enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-16": enums.WORKFLOW_EXECUTION_STATUS_RUNNING, // left from when there were more
		},
		pending: map[string]*workflowpb.PendingActivityInfo{
			"test-outbox-poller-1": {
				LastHeartbeatTime: timestamppb.New(beat), Attempt: 3, LastFailure: &failurepb.Failure{Message: "heartbeat timeout"},
			},
			"test-outbox-poller-7": {State: enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, Attempt: 1}, // it ends its batch
			"test-outbox-poller-8": {State: enums.PENDING_ACTIVITY_STATE_STARTED, Attempt: 1},
		},
		paused: map[string]*time.Time{
			"test-outbox-poller-2": &paused, "test-outbox-poller-5": &paused, "test-outbox-poller-6": nil, "test-outbox-poller-8": &paused,
		},
		workers: []time.Duration{time.Second, 4 * time.Minute},
	}

	state, err := readPollers(t.Context(), temporal, "test", 3)

	require.NoError(t, err)
	start := pollerStart
	require.Equal(t, pollersState{TaskQueue: "test-events", Workers: 1, Pollers: []pollerState{
		{ID: "test-outbox-poller-1", Status: "RUNNING", Since: &start, LastHeartbeat: &beat, Attempt: 3, LastFailure: "heartbeat timeout"},
		{ID: "test-outbox-poller-2", Status: "CANCELED", Since: &start},
		{ID: "test-outbox-poller-3", Status: "NOT STARTED"},
		{ID: "test-outbox-poller-5", Status: "PAUSED", Since: &paused},
		{ID: "test-outbox-poller-6", Status: "PAUSED"},
		{ID: "test-outbox-poller-7", Status: "PAUSING", Since: &start, Attempt: 1},
		{ID: "test-outbox-poller-8", Status: "PAUSING", Since: &paused, Attempt: 1},
		{ID: "test-outbox-poller-16", Status: "RUNNING", Since: &start},
	}}, state)
}

func TestReadPollersFails(t *testing.T) {
	t.Parallel()

	down := errors.New("connection refused")
	_, err := readPollers(t.Context(), &server{err: down}, "test", 1)
	require.ErrorIs(t, err, down)
}

var ended = pollerGoal{reached: func(p pollerState) bool { return !p.running() }, missed: "still running", next: "start a worker"}

func TestWaitForPollers(t *testing.T) {
	t.Parallel()

	ids := []string{"a", "b"}
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{"a": enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "b": enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		paused: map[string]*time.Time{"b": &pollerStart},
		onLook: func(looks int, s *server) {
			switch looks {
			case 3: // the second round
				s.status["a"] = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
			case 5: // the third, which looks at b alone
				delete(s.status, "b") // its retention has ended
			}
		},
	}

	require.NoError(t, waitForPollers(t.Context(), temporal, slices.Clone(ids), ended))
	require.Equal(t, 5, temporal.looks)
	require.NoError(t, waitForPollers(t.Context(), temporal, nil, ended))
}

func TestWaitForPollersIsBounded(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancelCause(t.Context())
	tooLong := errors.New("took longer than 1m")
	temporal := &server{
		status: map[string]enums.WorkflowExecutionStatus{"a": enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		onLook: func(looks int, _ *server) {
			if looks == 2 {
				cancel(tooLong)
			}
		},
	}

	err := waitForPollers(ctx, temporal, []string{"a"}, ended)

	require.ErrorIs(t, err, tooLong)
	require.ErrorContains(t, err, "still running: a")
	require.Contains(t, (&app{}).nextStep(err), "start a worker")
}
