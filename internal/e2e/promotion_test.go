package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

// formerWorker imitates a worker of release 0.2: an event has a lane, and a cancelled delivery
// becomes CANCELLED.
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

// freshWorker imitates a worker of this build, with its generation.
func (s *system) freshWorker() sdkworker.Worker {
	w := sdkworker.New(s.temporal, workflows.EventsQueue(s.name), sdkworker.Options{DeploymentOptions: sdkworker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   sdkworker.WorkerDeploymentVersion{DeploymentName: launch.Deployment(client.DefaultNamespace, s.name), BuildID: launch.BuildID(workflows.CommandVersion)},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ workflows.NotifyInput) error {
		return workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: workflows.NotifyEventType})
	return w
}

// changes matches the calls with which a promotion changes Temporal.
var changes = regexp.MustCompile(`/(TerminateWorkflowExecution|StartWorkflowExecution|SetWorkerDeploymentCurrentVersion)$`)

// mortal returns a Temporal client whose process dies after the allowed number of changes. The
// last change takes effect, but its answer is lost.
func (s *system) mortal(allowed int64) client.Client {
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

// The process of a promotion dies after each of its changes. The next promotion continues, loses no
// event and starts none twice.
func TestPromotionInterrupted(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.lostEvent("large")
	event := s.eventID("large", 0)
	s.lostDelivery(event, "1")
	delivery := notification.DeliveryID(event, "customer", "1", notification.Email)
	launcher := &launch.Launcher{Client: s.temporal, Prefix: s.name}
	require.NoError(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: event, Type: "LOAD"}), "as a newer starter does before the promotion")
	s.awaitRuns(event, 1)
	openOfOld := func() int64 { return must(operate.ReadFleet(t.Context(), launcher, s.store))(t).Generations[0].Open }
	require.Zero(t, openOfOld(), "no worker has begun it")
	old := s.formerWorker()
	require.NoError(t, old.Start())
	defer old.Stop()
	begun := must(launcher.OpenEvent(t.Context(), event))(t)
	s.eventually(func() bool { return openOfOld() == 3 }, "the event, its lane and its delivery never begin")
	fresh := s.freshWorker()
	require.NoError(t, fresh.Start())
	defer fresh.Stop()

	order := operate.Promotion{Generation: workflows.CommandVersion}
	deaths := int64(0)
	s.eventually(func() bool {
		deaths++
		operator := &operate.Operator{Order: operate.Order{Actor: "test", Command: "workers promote"}, Store: s.store,
			Launcher: &launch.Launcher{Client: s.mortal(deaths), Namespace: client.DefaultNamespace, Prefix: s.name}}
		promoted, err := operator.Promote(t.Context(), order, func(operate.Promoted) {})
		return err == nil && promoted.Changed
	}, "it never ends")
	t.Logf("it was killed %d times", deaths-1)

	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, s.statusOf(event, begun.RunID))
	require.NotEqual(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, s.status(workflows.LaneID(event, notification.Email)))
	require.NotEqual(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, s.status(delivery))
	s.awaitDelivery(delivery, "PENDING")
	require.Equal(t, workflows.CommandVersion, must(launcher.OpenEvent(t.Context(), event))(t).Generation)
	s.awaitRuns(event, 2)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'PROCESSING' AND restarting_at IS NULL AND restarts = 0`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM worker_promotion WHERE generation = $1 AND from_generation = 3 AND ended_at IS NOT NULL`, workflows.CommandVersion))

	require.False(t, must(s.promote(order))(t).Changed)
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

// awaitRuns waits until Temporal lists this number of runs of a workflow.
func (s *system) awaitRuns(id string, want int64) {
	s.t.Helper()
	s.eventually(func() bool {
		runs, err := s.temporal.CountWorkflow(s.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = '" + id + "'"})
		return err == nil && runs.GetCount() == want
	}, "%s was not started exactly %d times", id, want)
}

// status returns the status of a workflow's last run.
func (s *system) status(id string) enums.WorkflowExecutionStatus { return s.statusOf(id, "") }

func (s *system) statusOf(id, runID string) enums.WorkflowExecutionStatus {
	described, err := s.temporal.DescribeWorkflow(s.t.Context(), id, runID)
	if err != nil {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	}
	return described.Status
}

// release02 is the commit of release 0.2, whose workers have no version.
const release02 = "ee7e3d4"

// worker02 starts a worker of release 0.2 and waits until it is ready.
func (s *system) worker02() *worker {
	s.t.Helper()
	programs, err := build02()
	if err != nil {
		s.t.Fatal(err)
	}
	former := *s
	former.programs = programs
	return former.startWorker()
}

// build02 builds the worker of release 0.2 from the repository's history, once. The source is
// always in the same folder, so that later builds use Go's cache.
var build02 = sync.OnceValues(func() (programs string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	source := filepath.Join(cache, "herald", "release-"+release02)
	if err := os.MkdirAll(source, 0o700); err != nil {
		return "", err
	}
	archive, programs := filepath.Join(binaries, "release.tar"), filepath.Join(binaries, "release")
	if said, err := exec.Command("git", "-C", filepath.Join("..", ".."), "archive", "--output", archive, release02).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the source of release 0.2, commit %s, is not here: clone with the whole history, or run `git fetch --unshallow`: %w\n%s", release02, err, said)
	}
	for _, command := range [][]string{
		{"tar", "-xf", archive, "-C", source},
		{"go", "build", "-buildvcs=false", "-o", programs + string(filepath.Separator), "./worker"},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = source
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, said)
		}
	}
	return programs, nil
})

// Some rows have no workflow, as after a failover of Temporal's store, and one event was
// terminated. The sweep starts the lost workflows again, closes the terminated event, and does
// not touch running workflows.
func TestSweep(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=100")
	s.prepareLoad()
	w := s.startAll(loadWorker...)
	s.scheduled()
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour'`)
	s.writeEvents("waiting", 1)
	s.writeEvents("terminated", 1)
	s.awaitCount(2*loadChannels, `SELECT count(*) FROM notification`)
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'IMMEDIATE', delay = DEFAULT`)
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), s.eventID("terminated", 0), "", "an operator's word"))
	s.lostDelivery(s.eventID("terminated", 0), "2")
	s.lostEvent("lost")
	s.lostEvent("ended")
	s.exec(`UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE' WHERE event_id = $1`, s.eventID("ended", 0))
	s.lostDelivery(s.eventID("ended", 0), "1")
	s.exec(`UPDATE processed_event SET created_at = now() - interval '16 minutes'`)
	s.exec(`UPDATE notification SET created_at = now() - interval '16 minutes'`)
	require.Regexp(t, `incomplete events +1`, s.starter("status"))

	found := s.sweep()

	require.Equal(t, 2, found.StartedAgain, "the event that was lost, and the delivery")
	require.GreaterOrEqual(t, found.Closed, 2, "the event that was terminated, and its delivery; deliveries that began end by themselves")
	require.Zero(t, found.Failed)
	s.awaitDeliveries(s.eventID("lost", 0), "SENT", loadChannels)
	s.awaitDeliveries(s.eventID("ended", 0), "SENT", 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'FAILED' AND outcome = 'CANCELLED'`, s.eventID("terminated", 0)))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND user_id = '2' AND status = 'CANCELLED' AND last_error = 'terminated'`, s.eventID("terminated", 0)))
	require.Equal(t, loadChannels, s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'PENDING' AND restarts = 0`, s.eventID("waiting", 0)))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'PROCESSING' AND restarts = 0`, s.eventID("waiting", 0)))

	s.awaitSuccess(s.eventID("lost", 0))
	require.Zero(t, s.sweep().StartedAgain)
	require.NotContains(t, s.starter("status"), "incomplete events")
	require.Regexp(t, `last sweep .+ 0 started again, 0 closed, 0 failed`, s.starter("status"))
	s.sweepGivesUp()
	require.NoError(t, w.stop())
}

// The sweep gives up a delivery whose workflow disappears after each start.
func (s *system) sweepGivesUp() {
	s.fault("email", `{"status":429,"rate":1,"retry_after":"15m"}`)
	s.lostEvent("gone")
	event := s.eventID("gone", 0)
	id := event + "-customer1-EMAIL"
	s.exec(`UPDATE processed_event SET status = 'SUCCESS', created_at = now() - interval '1 hour' WHERE event_id = $1`, event)
	s.lostDelivery(event, "1")
	s.exec(`UPDATE notification SET created_at = now() - interval '1 hour', strategy = 'DELAYED', send_after = now() + interval '1 day' WHERE delivery_id = $1`, id)
	require.Zero(s.t, s.sweep().StartedAgain, "its time has not come")
	s.exec(`UPDATE notification SET send_after = now() WHERE delivery_id = $1`, id)

	for attempts := range 3 {
		require.Equal(s.t, 1, s.sweep().StartedAgain)
		s.awaitCount(attempts+1, `SELECT count(*) FROM delivery_attempt WHERE outcome = 'BUSY'`)
		require.Zero(s.t, s.sweep().StartedAgain, "it waits for its next attempt")
		s.lose(id)
	}
	require.Equal(s.t, 1, s.sweep().Failed)

	require.Equal(s.t, 1, s.count(`SELECT count(*) FROM notification WHERE status = 'FAILED' AND last_error = 'started again 3 times in vain'`))
	letters := s.deadLetters()
	require.Len(s.t, letters, 1)
	require.Contains(s.t, string(letters[0].Body), id)
}

// scheduled waits until Temporal has the schedule of the sweeps and pauses it, so that only the
// test starts sweeps.
func (s *system) scheduled() {
	s.t.Helper()
	schedule := s.temporal.ScheduleClient().GetHandle(s.t.Context(), workflows.SweepID(s.name))
	s.eventually(func() bool {
		return schedule.Pause(s.t.Context(), client.SchedulePauseOptions{}) == nil
	}, "nobody scheduled the sweep")
	again := launch.Launcher{Client: s.temporal, Prefix: s.name}
	require.NoError(s.t, again.ScheduleSweep(s.t.Context()), "another worker starts")
	s.eventually(func() bool {
		described, err := schedule.Describe(s.t.Context())
		return err == nil && described.Schedule.State.Paused && len(described.Info.RunningWorkflows) == 0
	}, "a sweep does not end")
}

// sweep runs one sweep, and returns its result.
func (s *system) sweep() notification.Sweep {
	s.t.Helper()
	options := client.StartWorkflowOptions{ID: workflows.SweepID(s.name) + "-" + uuid.NewString(), TaskQueue: workflows.EventsQueue(s.name)}
	run := must(s.temporal.ExecuteWorkflow(s.t.Context(), options, workflows.Sweep))(s.t)
	var found notification.Sweep
	require.NoError(s.t, run.Get(s.t.Context(), &found))
	return found
}

// lostEvent writes an event that is marked as started but has no workflow.
func (s *system) lostEvent(round string) {
	s.t.Helper()
	id := s.eventID(round, 0)
	s.exec(`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		VALUES ($1, 'LOAD', 'CUSTOMER', '1', '{"number": 1}', 'PROCESSED', now())`, id)
	s.exec(`INSERT INTO processed_event (event_id) VALUES ($1)`, id)
}

// lostDelivery writes a planned delivery by e-mail that has no workflow.
func (s *system) lostDelivery(event, user string) {
	s.t.Helper()
	s.exec(`
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address)
		VALUES ($1, 'LOAD', 'CUSTOMER', $2, 'EMAIL', $3, 'Hello', 'You', 'ada@example.com')`,
		event, user, notification.DeliveryID(event, "customer", user, notification.Email))
}

// lose deletes a workflow from Temporal.
func (s *system) lose(id string) {
	s.t.Helper()
	_, err := s.temporal.WorkflowService().DeleteWorkflowExecution(s.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	require.NoError(s.t, err)
	s.eventually(func() bool {
		_, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
		var unknown *serviceerror.NotFound
		return errors.As(err, &unknown)
	}, "%s is not forgotten", id)
}
