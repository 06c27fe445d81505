package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
)

// bare is Temporal without Herald: each parent workflow starts children, and each child runs one
// activity that does nothing. Queues, slots, pollers and server are the same as Herald's.
type bare struct {
	temporal client.Client
	name     string
	rounds   int
	eager    bool // parents start eagerly, as Herald's events do

	mu   sync.Mutex
	last time.Time // start time of the last activity
}

// startsAtOnce is the number of events that Herald's poller starts concurrently.
const startsAtOnce = 16

// slots is the number of sends of one channel that Herald's worker runs concurrently.
const slots = 64

// batchSends is the number of messages of one channel that Herald's worker sends concurrently
// in batches.
const batchSends = 128

// bareParent is the input of a parent workflow. Queue is the task queue of its children.
type bareParent struct {
	Children int
	Queue    string
}

// newBare starts the workers of bare Temporal in this process.
func newBare(in *installation) (*bare, error) {
	b := &bare{temporal: in.Temporal, name: in.Name + "-bare"}
	parents := worker.New(b.temporal, b.name+"-events", worker.Options{})
	parents.RegisterWorkflowWithOptions(parent, workflow.RegisterOptions{Name: "BareParent"})
	children := worker.New(b.temporal, b.name+"-email", worker.Options{MaxConcurrentActivityExecutionSize: slots})
	children.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: "BareChild"})
	children.RegisterActivityWithOptions(b.nothing, activity.RegisterOptions{Name: nothing})
	for _, each := range []worker.Worker{parents, children} {
		if err := each.Start(); err != nil {
			return nil, err
		}
		in.Running.AtEnd(func(context.Context) error { each.Stop(); return nil })
	}
	return b, nil
}

// parent is a workflow that starts children and waits for all of them.
func parent(ctx workflow.Context, in bareParent) error {
	var started []workflow.ChildWorkflowFuture
	for i := range in.Children {
		ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: childID(workflow.GetInfo(ctx).WorkflowExecution.ID, i), TaskQueue: in.Queue,
		})
		started = append(started, workflow.ExecuteChildWorkflow(ctx, "BareChild"))
	}
	for _, each := range started {
		if err := each.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func child(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, nothing).Get(ctx, nil)
}

func childID(parentID string, n int) string { return fmt.Sprintf("%s-%d", parentID, n) }

// nothing is the name of the activity that only records its start time.
const nothing = "Nothing"

// lastActivity returns the start time of the last activity so far.
func (b *bare) lastActivity() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *bare) nothing(context.Context) error {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = now
	return nil
}

// run starts parent workflows, and waits until all have ended.
func (b *bare) run(ctx context.Context, ids []string, children int) error {
	runs, err := b.start(ctx, ids, children)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := run.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// start starts parent workflows, startsAtOnce of them concurrently, like Herald's poller.
func (b *bare) start(ctx context.Context, ids []string, children int) ([]client.WorkflowRun, error) {
	runs := make([]client.WorkflowRun, len(ids))
	group, starting := errgroup.WithContext(ctx)
	group.SetLimit(startsAtOnce)
	for i, id := range ids {
		group.Go(func() (err error) {
			options := client.StartWorkflowOptions{ID: id, TaskQueue: b.name + "-events", EnableEagerStart: b.eager}
			runs[i], err = b.temporal.ExecuteWorkflow(starting, options, "BareParent", bareParent{children, b.name + "-email"})
			return err
		})
	}
	return runs, group.Wait()
}
