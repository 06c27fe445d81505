package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	command "go.temporal.io/api/command/v1"
	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A probe queues many tasks of one fairness key, and behind them a few tasks of another key. A fair
// server gives out most of the few tasks in the first half. A server with several partitions
// spreads tasks at random: with 4 partitions, 1 of 300 probes is wrong.
const (
	manyTasks, manyKey = 60, "many"
	fewTasks, fewKey   = 10, "few"
	// probes is the number of probes that must all find no fairness, because a server with
	// matching.autoEnableV2 becomes fair only after the first key.
	probes = 3
	// probeLife is the time-out of a probe's workflow, for a process that is killed.
	probeLife = time.Minute
	// queuedInterval is the time between two reads of the number of queued tasks.
	queuedInterval = time.Second
	// queuedPatience limits the wait for all tasks. The server counts them every 5 seconds, and
	// may miss a task when it switches matching.autoEnableV2.
	queuedPatience = 7 * time.Second
	// maxProbing is the number of processes that may probe at the same time.
	maxProbing = 10
)

// fairnessProbe is the task queue and the workflow id of a probe.
type fairnessProbe struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	name      string
	queue     *taskqueuepb.TaskQueue
}

// IsFair reports whether the fairness keys of a queue take turns. Temporal has no request for this
// setting, so IsFair runs a workflow with empty activities, and terminates it.
func (l *Launcher) IsFair(ctx context.Context) (fair bool, err error) {
	for n := 0; n < probes && !fair && err == nil; n++ {
		fair, err = l.probe(ctx)
	}
	if err != nil {
		err = fmt.Errorf("probe the fairness of Temporal: %w", err)
	}
	return fair, err
}

// probe runs a probe under the first name that no other process uses. There are few names, because
// Temporal remembers each queue.
func (l *Launcher) probe(ctx context.Context) (fair bool, err error) {
	name := l.Prefix + "-fairness"
	for n := range maxProbing {
		p := fairnessProbe{l.Client.WorkflowService(), l.Namespace, name, &taskqueuepb.TaskQueue{Name: name}}
		if fair, err = p.run(ctx); !errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
			break
		}
		name = fmt.Sprintf("%s-fairness-%d", l.Prefix, n+2)
	}
	return fair, err
}

func (p fairnessProbe) run(ctx context.Context) (fair bool, err error) {
	started, err := p.service.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: p.namespace, WorkflowId: p.name, WorkflowType: &common.WorkflowType{Name: "FairnessProbe"}, TaskQueue: p.queue,
		RequestId: rand.Text(), WorkflowExecutionTimeout: durationpb.New(probeLife),
	})
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queuedInterval)
		defer cancel()
		_, _ = p.service.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
			Namespace: p.namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: p.name, RunId: started.RunId},
			Reason: "the probe has ended",
		}) // if this fails, the workflow ends after probeLife
	}()
	if err := p.schedule(ctx, manyKey, manyTasks); err != nil {
		return false, err
	}
	if err := p.awaitMany(ctx); err != nil {
		return false, err
	}
	if err := p.wake(ctx); err != nil {
		return false, err
	}
	if err := p.schedule(ctx, fewKey, fewTasks); err != nil {
		return false, err
	}
	few := 0
	for n := range manyTasks + fewTasks { // take all tasks, because the next probe uses the same queue
		key, err := p.take(ctx)
		if err != nil {
			return false, err
		}
		if key == fewKey && n < (manyTasks+fewTasks)/2 {
			few++
		}
	}
	return few > fewTasks/2, nil
}

// schedule handles the next workflow task: it schedules activities of one fairness key.
func (p fairnessProbe) schedule(ctx context.Context, key string, tasks int) error {
	var commands []*command.Command
	for n := range tasks {
		task := &command.ScheduleActivityTaskCommandAttributes{
			ActivityId: key + strconv.Itoa(n), ActivityType: &common.ActivityType{Name: key}, TaskQueue: p.queue,
			ScheduleToCloseTimeout: durationpb.New(probeLife), StartToCloseTimeout: durationpb.New(probeLife),
			RetryPolicy: &common.RetryPolicy{MaximumAttempts: 1}, Priority: &common.Priority{FairnessKey: key},
		}
		commands = append(commands, &command.Command{
			CommandType: enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
			Attributes:  &command.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: task},
		})
	}
	for {
		task, err := p.service.PollWorkflowTaskQueue(ctx,
			&workflowservice.PollWorkflowTaskQueueRequest{Namespace: p.namespace, TaskQueue: p.queue})
		if err != nil {
			return err
		}
		if len(task.TaskToken) > 0 { // otherwise the poll ended without a task
			_, err = p.service.RespondWorkflowTaskCompleted(ctx,
				&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: p.namespace, TaskToken: task.TaskToken, Commands: commands})
			return err
		}
	}
}

// wake makes Temporal queue another workflow task.
func (p fairnessProbe) wake(ctx context.Context) error {
	_, err := p.service.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: p.namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: p.name}, SignalName: fewKey, RequestId: rand.Text(),
	})
	return err
}

// awaitMany waits until the tasks of the first key are in the queue.
func (p fairnessProbe) awaitMany(ctx context.Context) error {
	for range queuedPatience / queuedInterval {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(queuedInterval):
		}
		queue, err := p.service.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: p.namespace, TaskQueue: p.queue, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportStats: true,
		})
		if err != nil || queue.GetStats().GetApproximateBacklogCount() >= manyTasks {
			return err
		}
	}
	return nil
}

// take takes the next activity from the queue, and returns its fairness key.
func (p fairnessProbe) take(ctx context.Context) (key string, err error) {
	for {
		task, err := p.service.PollActivityTaskQueue(ctx,
			&workflowservice.PollActivityTaskQueueRequest{Namespace: p.namespace, TaskQueue: p.queue})
		if err != nil || len(task.TaskToken) > 0 {
			return task.GetActivityType().GetName(), err
		}
	}
}
