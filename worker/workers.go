package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/workflows"
)

// stopTimeout is the time for a running activity to record its result before the process ends, in
// addition to its provider's timeout.
const stopTimeout = 10 * time.Second

// cachedWorkflows bounds the workflows that this process keeps in memory. A delivery takes some 0.04 MB,
// and as much again in the workflow of its event. Workflows without tasks leave first. When the next task
// comes, the process reads their history again.
const cachedWorkflows = 2000

// pollers bounds the long polls of each worker: for activities, for workflow tasks of its queue, and
// for workflow tasks of its cached workflows. Temporal's answers ask for more polls while tasks wait,
// and for fewer while polls wait. An idle worker has one poll of each kind, because a process has up
// to 19 workers, and a Temporal frontend allows 1,200 long polls of a kind by default. Even with a
// server 50 ms away, 16 polls fetch some 300 tasks a second.
var pollers = worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
	MinimumNumberOfPollers: 1,
	InitialNumberOfPollers: 2,
	MaximumNumberOfPollers: 16,
})

// workers holds the Temporal workers of this process, one per task queue. So a provider that hangs
// uses up only its channel's slots, and a rate limit delays only the sends.
type workers struct {
	temporal   client.Client
	namespace  string
	operator   *operate.Operator // promotes the generation of this build
	cfg        config.Config
	part       part
	activities *activities.Activities

	settled atomic.Bool // the workers poll, and promote has ended or waits for other processes
	fatal   chan error
	all     []worker.Worker
	polled  []client.WorkerDeploymentTaskQueueInfo // the task queues that the workers poll
	running []worker.Worker
}

// ready returns nil if this process gets tasks, or only waits for other processes.
func (w *workers) ready(context.Context) error {
	if !w.settled.Load() {
		return errors.New("the workers have not started, or their generation is not promoted yet")
	}
	return nil
}

// run serves the process's part of the work until ctx ends. Then it waits for the sends in
// flight.
func (w *workers) run(ctx context.Context) error {
	// The processes of an installation can start in any order.
	retry(ctx, "waiting for Temporal", retryStart, func(ctx context.Context) error {
		return launch.RegisterSearchAttributes(ctx, w.temporal, w.namespace)
	})
	if err := w.requireVersioning(ctx); err != nil {
		return err
	}
	worker.SetStickyWorkflowCacheSize(cachedWorkflows)
	w.fatal = make(chan error, 1)
	if w.part.events {
		w.addEvents()
	}
	for _, channel := range w.part.channels {
		w.addChannel(channel)
	}
	defer w.stop()
	for _, each := range w.all {
		if ctx.Err() != nil {
			return nil
		}
		if err := each.Start(); err != nil {
			return fmt.Errorf("start worker: %w", err)
		}
		w.running = append(w.running, each)
	}
	slog.Info("worker started", "events", w.part.events, "channels", w.part.channels, "task_queue_prefix", w.cfg.TaskQueuePrefix,
		"generation", workflows.CommandVersion)
	promoting, stopPromoting := context.WithCancel(ctx)
	promoted := make(chan struct{})
	go func() {
		defer close(promoted)
		w.promote(promoting)
	}()
	defer func() {
		stopPromoting()
		<-promoted
	}()
	select {
	case <-ctx.Done():
		slog.Info("worker stopping: waiting for sends in flight")
		return nil
	case err := <-w.fatal:
		return fmt.Errorf("worker: %w", err)
	}
}

func (w *workers) addEvents() {
	w.add(workflows.EventsQueue(w.cfg.TaskQueuePrefix), workflows.OfEvents(), worker.Options{
		WorkerStopTimeout:            stopTimeout,
		MaxHeartbeatThrottleInterval: activities.PollHeartbeat / 5, // the answer to a heartbeat tells a poller to pause
	})
}

func (w *workers) addChannel(channel notification.Channel) {
	queue, policy := workflows.ChannelQueue(w.cfg.TaskQueuePrefix, channel), w.cfg.Policies[channel]
	w.add(queue, workflows.OfDeliveries(), worker.Options{
		MaxConcurrentActivityExecutionSize: activities.SendSlots(limitOf(channel, policy), slots),
		WorkerStopTimeout:                  policy.Timeout + stopTimeout,
	})
	w.add(workflows.BatchesQueue(queue), nil, worker.Options{
		MaxConcurrentActivityExecutionSize: activities.BatchesAtOnce,
		MaxHeartbeatThrottleInterval:       time.Second, // the answer to a heartbeat tells a batch that it is cancelled
		DisableWorkflowWorker:              true,
		WorkerStopTimeout:                  policy.Timeout + stopTimeout,
	})
	w.add(workflows.RecordsQueue(queue), nil, worker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		DisableWorkflowWorker:              true,
		WorkerStopTimeout:                  stopTimeout,
	})
}

// add adds a worker for these workflow types and all activities.
func (w *workers) add(queue string, types []any, options worker.Options) {
	options.OnFatalError = func(err error) {
		select {
		case w.fatal <- err:
		default: // one error is enough to end the process
		}
	}
	options.DeploymentOptions = worker.DeploymentOptions{
		UseVersioning: true,
		Version: worker.WorkerDeploymentVersion{
			DeploymentName: launch.Deployment(w.namespace, w.cfg.TaskQueuePrefix), BuildID: launch.BuildID(workflows.CommandVersion),
		},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
	options.WorkflowTaskPollerBehavior, options.ActivityTaskPollerBehavior = pollers, pollers
	options.Interceptors = []interceptor.WorkerInterceptor{activities.WithoutValues()}
	added := worker.New(w.temporal, queue, options)
	for _, each := range types {
		added.RegisterWorkflow(each)
	}
	added.RegisterActivity(w.activities)
	w.all = append(w.all, added)
	w.polled = append(w.polled, client.WorkerDeploymentTaskQueueInfo{Name: queue, Type: client.TaskQueueTypeActivity})
	if !options.DisableWorkflowWorker {
		w.polled = append(w.polled, client.WorkerDeploymentTaskQueueInfo{Name: queue, Type: client.TaskQueueTypeWorkflow})
	}
}

// stop stops all running workers concurrently, because each may have to wait.
func (w *workers) stop() {
	w.settled.Store(false)
	var stopping sync.WaitGroup
	for _, each := range w.running {
		stopping.Go(each.Stop)
	}
	stopping.Wait()
}
