package e2e_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
	"herald/workflows"
)

// formerWorker stands for one of release 0.2: an event has a lane, and a delivery that is
// cancelled becomes CANCELLED.
func (s *system) formerWorker() sdkworker.Worker {
	w := sdkworker.New(s.temporal, workflows.EventsQueue(s.name), sdkworker.Options{})
	below := func(ctx workflow.Context, id, kind string) error {
		ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL, WaitForCancellation: true})
		return workflow.ExecuteChildWorkflow(ctx, kind, id).Get(ctx, nil)
	}
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, in workflows.NotifyInput) error {
		return below(ctx, workflows.LaneID(in.EventID, notification.Email), workflows.NotifyChannelType)
	}, workflow.RegisterOptions{Name: workflows.NotifyEventType})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, id string) error {
		event := strings.TrimSuffix(id, "-lane-EMAIL")
		return below(ctx, notification.DeliveryID(event, "customer", "1", notification.Email), workflows.DeliverNotificationType)
	}, workflow.RegisterOptions{Name: workflows.NotifyChannelType})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, id string) error {
		err := workflow.Sleep(ctx, time.Hour)
		ended, _ := workflow.NewDisconnectedContext(workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second}))
		return errors.Join(err, workflow.ExecuteLocalActivity(ended, func(ctx context.Context) error {
			_, err := s.store.GiveUp(ctx, id, notification.Cancelled, "cancelled")
			return err
		}).Get(ended, nil))
	}, workflow.RegisterOptions{Name: workflows.DeliverNotificationType})
	return w
}

// freshWorker stands for one of this build, under its generation.
func (s *system) freshWorker() sdkworker.Worker {
	w := sdkworker.New(s.temporal, workflows.EventsQueue(s.name), sdkworker.Options{DeploymentOptions: sdkworker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   sdkworker.WorkerDeploymentVersion{DeploymentName: launch.Deployment(client.DefaultNamespace, s.name), BuildID: launch.BuildID(workflows.Commands)},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ workflows.NotifyInput) error {
		return workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: workflows.NotifyEventType})
	return w
}

// changes are the calls by which a promotion changes something in Temporal.
var changes = regexp.MustCompile(`/(TerminateWorkflowExecution|StartWorkflowExecution|SetWorkerDeploymentCurrentVersion)$`)

// mortal is a client of Temporal whose process dies after so many changes. The last of them
// takes place, but its answer is lost.
func (s *system) mortal(allowed int64) client.Client {
	s.t.Helper()
	var made atomic.Int64
	dead := status.Error(codes.Aborted, "the process is dead")
	dies := func(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		switch {
		case made.Load() >= allowed:
			return dead
		case changes.MatchString(method) && made.Add(1) == allowed:
			return errors.Join(invoke(ctx, method, in, out, conn, options...), dead)
		default:
			return invoke(ctx, method, in, out, conn, options...)
		}
	}
	temporal, err := client.NewLazyClient(client.Options{HostPort: s.servers.temporalAddress, Logger: log.NewStructuredLogger(discard()),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(dies)}}})
	require.NoError(s.t, err)
	s.t.Cleanup(temporal.Close)
	return temporal
}

// A promotion whose process dies after each of its changes loses nothing, and starts no event
// twice: the next one continues.
func TestPromotionInterrupted(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("migrate", "up")
	s.lostEvent("large")
	event := s.eventID("large", 0)
	s.lostDelivery(event, "1", 0)
	delivery := notification.DeliveryID(event, "customer", "1", notification.Email)
	old := s.formerWorker()
	require.NoError(t, old.Start())
	defer old.Stop()
	begun, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: event, TaskQueue: workflows.EventsQueue(s.name)},
		workflows.NotifyEventType, workflows.NotifyInput{EventID: event, Commands: launch.Unversioned})
	require.NoError(t, err)
	s.eventually(func() bool { return s.status(delivery) == enums.WORKFLOW_EXECUTION_STATUS_RUNNING }, "the delivery never begins")
	fresh := s.freshWorker()
	require.NoError(t, fresh.Start())
	defer fresh.Stop()

	order := operate.Promotion{Generation: workflows.Commands}
	deaths := int64(0)
	s.eventually(func() bool {
		deaths++
		operator := &operate.Operator{Order: operate.Order{Actor: "test", Command: "workers promote"}, Store: s.store,
			Launcher: &launch.Launcher{Client: s.mortal(deaths), Namespace: client.DefaultNamespace, Prefix: s.name}}
		promoted, err := operator.Promote(t.Context(), order, func(operate.Promoted) {})
		return err == nil && promoted.Changed
	}, "it never ends")
	t.Logf("it was killed %d times", deaths-1)

	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, s.statusOf(event, begun.GetRunID()))
	require.NotEqual(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, s.status(workflows.LaneID(event, notification.Email)))
	require.NotEqual(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, s.status(delivery))
	s.awaitDelivery(delivery, "PENDING")
	again, err := (&launch.Launcher{Client: s.temporal, Prefix: s.name}).OpenEvent(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, workflows.Commands, again.Generation)
	s.eventually(func() bool {
		runs, err := s.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = '" + event + "'"})
		return err == nil && runs.GetCount() == 2
	}, "the event was not started exactly twice")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'PROCESSING' AND restarting_at IS NULL AND restarts = 0`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM worker_promotion WHERE generation = $1 AND from_generation = 3 AND ended_at IS NOT NULL`, workflows.Commands))

	nothing, err := s.promote(order)
	require.NoError(t, err)
	require.False(t, nothing.Changed)
	_, unlock, err := s.store.LockPromotions(t.Context())
	require.NoError(t, err)
	defer unlock()
	_, err = s.promote(order)
	require.ErrorIs(t, err, postgres.ErrPromoting)
}

func (s *system) promote(order operate.Promotion) (operate.Promoted, error) {
	operator := &operate.Operator{Store: s.store, Launcher: &launch.Launcher{Client: s.temporal, Namespace: client.DefaultNamespace, Prefix: s.name}}
	return operator.Promote(s.t.Context(), order, func(operate.Promoted) {})
}

// status is that of a workflow's last run.
func (s *system) status(id string) enums.WorkflowExecutionStatus { return s.statusOf(id, "") }

func (s *system) statusOf(id, runID string) enums.WorkflowExecutionStatus {
	described, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), id, runID)
	if err != nil {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	}
	return described.GetWorkflowExecutionInfo().GetStatus()
}
