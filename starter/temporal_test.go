package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	api "go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/workflows"
)

// temporalServer is a Temporal with a worker of the events, unless idle, and with the objects that
// workers create, unless fresh. Fairness is off.
type temporalServer struct {
	api.UnimplementedWorkflowServiceServer
	idle    bool // no worker runs
	fresh   bool // there are no search attributes, no schedule and no poller
	paused  bool // the schedule and the poller are paused
	refusal error
}

// serve serves Temporal's API until the end of the test, and returns its address.
func (s temporalServer) serve(t *testing.T) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.serveOn(t, listener)
	return listener.Addr().String()
}

// serveOn serves Temporal's API until the end of the test.
func (s temporalServer) serveOn(t *testing.T, listener net.Listener) {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(withDetails))
	api.RegisterWorkflowServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
}

// withDetails answers with the errors of Temporal's API.
func withDetails(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, in)
	return answer, serviceerror.ToStatus(err).Err()
}

func (s temporalServer) GetSystemInfo(context.Context, *api.GetSystemInfoRequest) (*api.GetSystemInfoResponse, error) {
	return &api.GetSystemInfoResponse{}, nil
}

func (s temporalServer) DescribeNamespace(context.Context, *api.DescribeNamespaceRequest) (*api.DescribeNamespaceResponse, error) {
	return &api.DescribeNamespaceResponse{}, nil
}

func (s temporalServer) CountWorkflowExecutions(
	context.Context, *api.CountWorkflowExecutionsRequest,
) (*api.CountWorkflowExecutionsResponse, error) {
	switch {
	case s.refusal != nil:
		return nil, s.refusal
	case s.fresh:
		return nil, serviceerror.NewInvalidArgument("no such search attribute")
	default:
		return &api.CountWorkflowExecutionsResponse{}, nil
	}
}

func (s temporalServer) DescribeSchedule(context.Context, *api.DescribeScheduleRequest) (*api.DescribeScheduleResponse, error) {
	if s.fresh {
		return nil, serviceerror.NewNotFound("no such schedule")
	}
	action := &workflowpb.NewWorkflowExecutionInfo{WorkflowType: &commonpb.WorkflowType{}, TaskQueue: &taskqueuepb.TaskQueue{}}
	return &api.DescribeScheduleResponse{Info: &schedulepb.ScheduleInfo{}, Schedule: &schedulepb.Schedule{
		Spec: &schedulepb.ScheduleSpec{}, Policies: &schedulepb.SchedulePolicies{}, State: &schedulepb.ScheduleState{Paused: s.paused},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: action}},
	}}, nil
}

func (s temporalServer) DescribeWorkflowExecution(
	_ context.Context, in *api.DescribeWorkflowExecutionRequest,
) (*api.DescribeWorkflowExecutionResponse, error) {
	if s.fresh || !strings.HasSuffix(in.GetExecution().GetWorkflowId(), "-1") {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	info := &workflowpb.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, Execution: in.GetExecution(), Type: &commonpb.WorkflowType{},
		SearchAttributes: &commonpb.SearchAttributes{},
	}
	if s.paused {
		info.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{workflows.PausedMemo: {}}}
	}
	return &api.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
}

func (s temporalServer) DescribeTaskQueue(_ context.Context, in *api.DescribeTaskQueueRequest) (*api.DescribeTaskQueueResponse, error) {
	described := &api.DescribeTaskQueueResponse{Stats: &taskqueuepb.TaskQueueStats{ApproximateBacklogCount: 60}}
	if !s.idle && strings.HasSuffix(in.GetTaskQueue().GetName(), "events") {
		described.Pollers = []*taskqueuepb.PollerInfo{{Identity: "worker", LastAccessTime: timestamppb.New(time.Now())}}
	}
	return described, nil
}

func (s temporalServer) StartWorkflowExecution(
	context.Context, *api.StartWorkflowExecutionRequest,
) (*api.StartWorkflowExecutionResponse, error) {
	return &api.StartWorkflowExecutionResponse{}, s.refusal
}

func (s temporalServer) PollWorkflowTaskQueue(
	context.Context, *api.PollWorkflowTaskQueueRequest,
) (*api.PollWorkflowTaskQueueResponse, error) {
	return &api.PollWorkflowTaskQueueResponse{TaskToken: []byte("task")}, nil
}

func (s temporalServer) RespondWorkflowTaskCompleted(
	context.Context, *api.RespondWorkflowTaskCompletedRequest,
) (*api.RespondWorkflowTaskCompletedResponse, error) {
	return &api.RespondWorkflowTaskCompletedResponse{}, nil
}

func (s temporalServer) SignalWorkflowExecution(
	context.Context, *api.SignalWorkflowExecutionRequest,
) (*api.SignalWorkflowExecutionResponse, error) {
	return &api.SignalWorkflowExecutionResponse{}, nil
}

// PollActivityTaskQueue gives out only tasks of the first fairness key.
func (s temporalServer) PollActivityTaskQueue(
	context.Context, *api.PollActivityTaskQueueRequest,
) (*api.PollActivityTaskQueueResponse, error) {
	return &api.PollActivityTaskQueueResponse{TaskToken: []byte("task"), ActivityType: &commonpb.ActivityType{Name: "many"}}, nil
}
