package launch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/launch"
)

// queueServer is a Temporal with the workers of one task queue.
type queueServer struct {
	polled map[string]time.Duration // by identity: time since the last poll
	beats  []beat
	old    bool // the server keeps no heartbeats

	refusal error // the error of a request for heartbeats

	current string            // the build that gets the tasks; empty: workers without a version get them
	builds  map[string]string // by identity
}

// beat is the last heartbeat of a worker.
type beat struct {
	identity string
	ago      time.Duration
	interval time.Duration // time since the previous heartbeat; 0: no previous heartbeat
	stopping bool

	forgotten bool // Temporal forgot the worker after it was listed
}

// queueService is the API of a queueServer.
type queueService struct {
	workflowservice.WorkflowServiceClient
	server queueServer
}

func (s queueServer) WorkflowService() workflowservice.WorkflowServiceClient {
	return queueService{server: s}
}

func (s queueServer) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	described := &workflowservice.DescribeTaskQueueResponse{}
	if s.current != "" {
		described.VersioningInfo = &taskqueuepb.TaskQueueVersioningInfo{
			CurrentDeploymentVersion: &deploymentpb.WorkerDeploymentVersion{BuildId: s.current},
		}
	}
	for identity, ago := range s.polled {
		poller := &taskqueuepb.PollerInfo{Identity: identity, LastAccessTime: timestamppb.New(time.Now().Add(-ago))}
		if build := s.builds[identity]; build != "" {
			poller.DeploymentOptions = &deploymentpb.WorkerDeploymentOptions{BuildId: build}
		}
		described.Pollers = append(described.Pollers, poller)
	}
	return described, nil
}

func (s queueService) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{
		Capabilities: &namespacepb.NamespaceInfo_Capabilities{WorkerHeartbeats: !s.server.old},
	}}, nil
}

func (s queueService) ListWorkers(
	_ context.Context, in *workflowservice.ListWorkersRequest, _ ...grpc.CallOption,
) (*workflowservice.ListWorkersResponse, error) {
	if s.server.refusal != nil {
		return nil, s.server.refusal
	}
	listed := &workflowservice.ListWorkersResponse{}
	if in.GetNamespace() != "default" || in.GetQuery() != "TaskQueue = 'herald-email'" {
		return listed, nil
	}
	for n := range s.server.beats {
		listed.Workers = append(listed.Workers, &workerpb.WorkerListInfo{WorkerInstanceKey: fmt.Sprint("key ", n)})
	}
	return listed, nil
}

func (s queueService) DescribeWorker(
	_ context.Context, in *workflowservice.DescribeWorkerRequest, _ ...grpc.CallOption,
) (*workflowservice.DescribeWorkerResponse, error) {
	for n, b := range s.server.beats {
		if in.GetNamespace() != "default" || in.GetWorkerInstanceKey() != fmt.Sprint("key ", n) || b.forgotten {
			continue
		}
		heartbeat := &workerpb.WorkerHeartbeat{
			WorkerIdentity: b.identity, Status: enums.WORKER_STATUS_RUNNING, HeartbeatTime: timestamppb.New(time.Now().Add(-b.ago)),
		}
		if b.interval > 0 {
			heartbeat.ElapsedSinceLastHeartbeat = durationpb.New(b.interval)
		}
		if build := s.server.builds[b.identity]; build != "" {
			heartbeat.DeploymentVersion = &deploymentpb.WorkerDeploymentVersion{BuildId: build}
		}
		if b.stopping {
			heartbeat.Status = enums.WORKER_STATUS_SHUTTING_DOWN
		}
		return &workflowservice.DescribeWorkerResponse{WorkerInfo: &workerpb.WorkerInfo{WorkerHeartbeat: heartbeat}}, nil
	}
	return nil, serviceerror.NewNotFound("no such worker")
}

func TestWorkersOf(t *testing.T) {
	t.Parallel()

	const running, stopped, gone = launch.WorkerRunning, launch.WorkerStopped, launch.WorkerGone
	tests := []struct {
		name   string
		server queueServer
		want   map[string]launch.WorkerStatus
	}{
		{name: "no worker"},
		{name: "alive", server: queueServer{beats: []beat{{identity: "a", ago: time.Second, interval: 3 * time.Second}}},
			want: map[string]launch.WorkerStatus{"a": running}},
		{name: "one of two is dead for ten seconds, with a poll just before its death",
			server: queueServer{
				polled: map[string]time.Duration{"a": 11 * time.Second},
				beats:  []beat{{identity: "a", ago: 10 * time.Second, interval: 3 * time.Second}, {identity: "b"}},
			},
			want: map[string]launch.WorkerStatus{"a": gone, "b": running}},
		{name: "stopping", server: queueServer{beats: []beat{{identity: "a", ago: time.Second, stopping: true}}},
			want: map[string]launch.WorkerStatus{"a": stopped}},
		{name: "release with a heartbeat each minute",
			server: queueServer{beats: []beat{{identity: "a", ago: 50 * time.Second, interval: time.Minute}}},
			want:   map[string]launch.WorkerStatus{"a": running}},
		{name: "no heartbeat yet", server: queueServer{polled: map[string]time.Duration{"a": 0}},
			want: map[string]launch.WorkerStatus{"a": running}},
		{name: "forgotten meanwhile", server: queueServer{beats: []beat{{identity: "a", forgotten: true}}}},
		{name: "killed before its first heartbeat", server: queueServer{polled: map[string]time.Duration{"a": 9 * time.Second}},
			want: map[string]launch.WorkerStatus{"a": gone}},
		{name: "heartbeats refused by a server under load, but polls",
			server: queueServer{
				polled: map[string]time.Duration{"a": time.Second}, beats: []beat{{identity: "a", ago: 20 * time.Second, interval: 3 * time.Second}},
			}, want: map[string]launch.WorkerStatus{"a": running}},
		{name: "stopping, after a poll",
			server: queueServer{polled: map[string]time.Duration{"a": 0}, beats: []beat{{identity: "a", ago: time.Second, stopping: true}}},
			want:   map[string]launch.WorkerStatus{"a": stopped}},
		{name: "role that may not list workers",
			server: queueServer{refusal: serviceerror.NewPermissionDenied("no", ""), polled: map[string]time.Duration{"a": time.Minute}},
			want:   map[string]launch.WorkerStatus{"a": running}},
		{name: "server that lists no workers",
			server: queueServer{refusal: serviceerror.NewUnimplemented("no"), polled: map[string]time.Duration{"a": time.Minute}},
			want:   map[string]launch.WorkerStatus{"a": running}},
		{name: "server without heartbeats",
			server: queueServer{old: true, polled: map[string]time.Duration{"a": time.Minute, "b": 2 * time.Minute}},
			want:   map[string]launch.WorkerStatus{"a": running, "b": gone}},
	}
	for _, tt := range tests {
		workers, err := launch.WorkersOf(t.Context(), tt.server, "", "herald-email")
		require.NoError(t, err, tt.name)
		found, alive := map[string]launch.WorkerStatus{}, 0
		for _, worker := range workers {
			found[worker.Identity] = worker.Status
			if worker.Status == running {
				alive++
			}
		}
		require.Len(t, workers, len(tt.want), tt.name)
		for identity, status := range tt.want {
			require.Equal(t, status, found[identity], "%s: %s", tt.name, identity)
		}
		require.Equal(t, alive, workers.Running(), tt.name)
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 22, 10, 0, 17, 0, time.UTC)
	workers := launch.Workers{{Identity: "a", Status: launch.WorkerGone, LastSeen: now.Add(-12 * time.Second)}}
	for _, fact := range []string{"herald-email", "2026-11-22 10:00:05.000Z", "12s ago"} {
		require.Contains(t, workers.Absent("herald-email", now), fact)
	}
	require.NotContains(t, launch.Workers{}.Absent("herald-email", now), "ago")
	idle := launch.Workers{{Identity: "a", Status: launch.WorkerIdle, LastSeen: now}}
	require.Contains(t, idle.Absent("herald-email", now), "another generation is current")
}

// Workers of a generation that is not current run, but get no tasks.
func TestWorkersOfGenerations(t *testing.T) {
	t.Parallel()

	for current, running := range map[string]string{"": "old", "4": "new", "5": "newest"} {
		server := queueServer{
			current: current, builds: map[string]string{"new": "4", "newest": "5"},
			beats: []beat{{identity: "old"}, {identity: "new"}}, polled: map[string]time.Duration{"newest": time.Second},
		}
		workers, err := launch.WorkersOf(t.Context(), server, "", "herald-email")
		require.NoError(t, err)
		require.Equal(t, 3, workers.Alive())
		require.Equal(t, 1, workers.Running())
		for _, worker := range workers {
			require.Equal(t, map[string]int{"new": 4, "newest": 5}[worker.Identity], worker.Generation)
			require.Equal(t, worker.Identity == running, worker.Status == launch.WorkerRunning, worker.Identity)
		}
		require.Len(t, workers.Of(4), 1)
	}
}

// A process that restarts on the same host has the same identity as before. The polls of the new
// process do not keep the old process alive.
func TestWorkersOfARestartedProcess(t *testing.T) {
	t.Parallel()

	restarted := queueServer{
		polled: map[string]time.Duration{"a": 0}, beats: []beat{{identity: "a", ago: 20 * time.Second}, {identity: "a", ago: 2 * time.Second}},
	}
	workers, err := launch.WorkersOf(t.Context(), restarted, "", "herald-email")
	require.NoError(t, err)
	require.Equal(t, []launch.WorkerStatus{launch.WorkerRunning, launch.WorkerGone},
		[]launch.WorkerStatus{workers[0].Status, workers[1].Status})
	require.Greater(t, time.Since(workers[1].LastSeen), 15*time.Second)
}
