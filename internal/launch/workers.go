package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/notification"
)

// WorkerHeartbeat is the interval of a worker's heartbeats to Temporal. Each heartbeat is one
// request for all task queues of the process. A dead worker is visible within 10 seconds.
const WorkerHeartbeat = 3 * time.Second

const (
	// heartbeatGone is the time after the last heartbeat until a worker counts as gone. Two
	// heartbeats may be lost.
	heartbeatGone = 3 * WorkerHeartbeat
	// pollGone is the time after the last poll until a worker without heartbeats counts as gone. A
	// poll takes a minute at most.
	pollGone = 90 * time.Second
	// maxWorkers limits the workers of a task queue that are read. Each costs one request.
	maxWorkers = 100
	// workersAtOnce limits the requests for workers that run at the same time.
	workersAtOnce = 8
)

// Worker is a worker that serves a task queue, or served it in the last minutes.
type Worker struct {
	Identity string       `json:"identity"` // process id and host, unless configured
	Status   WorkerStatus `json:"status"`
	LastSeen time.Time    `json:"last_seen"` // by the worker's clock

	Generation int `json:"generation"` // 0: the worker is not Herald's
}

// WorkerStatus is the status of a worker.
type WorkerStatus string

const (
	WorkerRunning WorkerStatus = "RUNNING"
	WorkerIdle    WorkerStatus = "IDLE"    // runs without tasks: another generation is current
	WorkerStopped WorkerStatus = "STOPPED" // it was told to stop and takes no more tasks
	WorkerGone    WorkerStatus = "GONE"    // not seen for 9 seconds or more
)

// Workers are the workers of one task queue, the most recently seen first.
type Workers []Worker

// Running counts the workers that take tasks.
func (w Workers) Running() int { return w.count(WorkerRunning) }

// Alive counts the workers that run, even without tasks.
func (w Workers) Alive() int { return w.count(WorkerRunning, WorkerIdle) }

func (w Workers) count(statuses ...WorkerStatus) (count int) {
	for _, worker := range w {
		if slices.Contains(statuses, worker.Status) {
			count++
		}
	}
	return count
}

// Of returns the workers of a generation.
func (w Workers) Of(generation int) Workers {
	return slices.DeleteFunc(slices.Clone(w), func(worker Worker) bool { return worker.Generation != generation })
}

// Absent explains why no worker takes the tasks of a queue, and since when.
func (w Workers) Absent(queue string, now time.Time) string {
	if w.Alive() > 0 {
		return "the workers that poll the task queue " + queue + " get no tasks, because another generation is current (`starter workers list`)"
	}
	text := "no worker polls the task queue " + queue
	if len(w) > 0 { // the most recently seen worker is first
		text += fmt.Sprintf(": the last one was seen at %s, %s ago", notification.InstantText(w[0].LastSeen),
			max(now.Sub(w[0].LastSeen), 0).Round(time.Second))
	}
	return text
}

// queueDescriber is the part of Temporal's client that WorkersOf needs.
type queueDescriber interface {
	DescribeTaskQueue(ctx context.Context, queue string, kind enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error)
	WorkflowService() workflowservice.WorkflowServiceClient
}

// WorkersOf finds the workers of a task queue. Temporal remembers them for some minutes after their
// end. A worker has no heartbeat if it has just started, or if the server does not keep or show
// heartbeats. For such a worker, the last poll counts.
func WorkersOf(ctx context.Context, temporal queueDescriber, namespace, queue string) (Workers, error) {
	beating, kept, err := heartbeats(ctx, temporal.WorkflowService(), cmp.Or(namespace, client.DefaultNamespace), queue)
	if err != nil && !withheld(err) {
		return nil, fmt.Errorf("list the workers of task queue %s: %w", queue, err)
	}
	described, err := temporal.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil && !IsNotFound(err) {
		return nil, fmt.Errorf("describe task queue %s: %w", queue, err)
	}
	polled := map[string]*taskqueuepb.PollerInfo{}
	for _, p := range described.GetPollers() {
		polled[p.GetIdentity()] = p
	}
	now, found := time.Now(), Workers{}
	for _, h := range beating {
		found = append(found, workerOf(h, polled[h.GetWorkerIdentity()].GetLastAccessTime().AsTime(), now))
		delete(polled, h.GetWorkerIdentity()) // an older heartbeat of this identity is from before a restart
	}
	patience := pollGone
	if kept {
		patience = heartbeatGone // a new worker sends its first heartbeat sooner
	}
	for identity, p := range polled {
		seen := p.GetLastAccessTime().AsTime()
		found = append(found, Worker{identity, statusAfter(now.Sub(seen), patience), seen, Generation(p.GetDeploymentOptions().GetBuildId())})
	}
	getTasks := serving(described.GetVersioningInfo())
	for i, worker := range found {
		if worker.Status == WorkerRunning && !slices.Contains(getTasks, worker.Generation) {
			found[i].Status = WorkerIdle
		}
	}
	slices.SortFunc(found, func(a, b Worker) int {
		return cmp.Or(b.LastSeen.Compare(a.LastSeen), cmp.Compare(a.Identity, b.Identity))
	})
	return found, nil
}

// withheld reports whether the server keeps no heartbeats, or does not show them to Herald.
func withheld(err error) bool {
	return errors.As(err, new(*serviceerror.PermissionDenied)) || errors.As(err, new(*serviceerror.Unimplemented))
}

// heartbeats returns the last heartbeats of a queue's workers, newest first. kept reports whether
// the server keeps and shows heartbeats.
func heartbeats(
	ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace, queue string,
) (found []*workerpb.WorkerHeartbeat, kept bool, err error) {
	described, err := temporal.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil || !described.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		return nil, false, err
	}
	listed, err := temporal.ListWorkers(ctx, &workflowservice.ListWorkersRequest{
		Namespace: namespace, PageSize: maxWorkers, Query: fmt.Sprintf("TaskQueue = '%s'", queue),
	})
	if err != nil {
		return nil, false, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workersAtOnce)
	found = make([]*workerpb.WorkerHeartbeat, len(listed.GetWorkers()))
	for i, worker := range listed.GetWorkers() {
		group.Go(func() error {
			described, err := temporal.DescribeWorker(ctx,
				&workflowservice.DescribeWorkerRequest{Namespace: namespace, WorkerInstanceKey: worker.GetWorkerInstanceKey()})
			if IsNotFound(err) {
				return nil
			}
			found[i] = described.GetWorkerInfo().GetWorkerHeartbeat()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	found = slices.DeleteFunc(found, func(h *workerpb.WorkerHeartbeat) bool { return h == nil })
	slices.SortFunc(found, func(a, b *workerpb.WorkerHeartbeat) int {
		return b.GetHeartbeatTime().AsTime().Compare(a.GetHeartbeatTime().AsTime())
	})
	return found, true, nil
}

// workerOf returns a worker with its status. The later of its last heartbeat and its last poll
// counts, because an overloaded server refuses heartbeats first. A worker with a longer interval
// reports the interval in each heartbeat except the first.
func workerOf(h *workerpb.WorkerHeartbeat, polled, now time.Time) Worker {
	worker := Worker{
		Identity: h.GetWorkerIdentity(), LastSeen: h.GetHeartbeatTime().AsTime(), Generation: Generation(h.GetDeploymentVersion().GetBuildId()),
	}
	if polled.After(worker.LastSeen) {
		worker.LastSeen = polled
	}
	switch h.GetStatus() {
	case enums.WORKER_STATUS_SHUTTING_DOWN, enums.WORKER_STATUS_SHUTDOWN:
		worker.Status = WorkerStopped
	default:
		worker.Status = statusAfter(now.Sub(worker.LastSeen), max(heartbeatGone, h.GetElapsedSinceLastHeartbeat().AsDuration()*3/2))
	}
	return worker
}

// statusAfter returns the status of a worker that was last seen some time ago.
func statusAfter(ago, patience time.Duration) WorkerStatus {
	if ago >= patience {
		return WorkerGone
	}
	return WorkerRunning
}

// Time converts a time from Temporal; nil: none.
func Time(t *timestamppb.Timestamp) *time.Time {
	if t == nil || t.AsTime().IsZero() {
		return nil
	}
	at := t.AsTime()
	return &at
}
