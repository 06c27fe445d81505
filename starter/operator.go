package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	failure "go.temporal.io/sdk/temporal"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// operator changes deliveries and events: the database says what they are, and
// Temporal makes something else of them.
type operator struct {
	app      *app
	db       *postgres.Store
	temporal client.Client
	prefix   string // TASK_QUEUE_PREFIX
	patience *patience
}

// operate calls f with an operator who waits for outcomes as long as wait.
func (a *app) operate(ctx context.Context, wait time.Duration, f func(ctx context.Context, o *operator) error) error {
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	temporal, err := a.temporal(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	return f(ctx, &operator{app: a, db: db, temporal: temporal, prefix: cfg.TaskQueuePrefix, patience: newPatience(wait)})
}

func (o *operator) starter() *launch.Launcher {
	return &launch.Launcher{Client: o.temporal, Prefix: o.prefix}
}

// record writes down that the target is about to change.
func (o *operator) record(ctx context.Context, target, detail string) error {
	return o.app.record(ctx, o.db, detail, target)
}

// delivery reads one delivery.
func (o *operator) delivery(ctx context.Context, id string) (postgres.DeliveryState, error) {
	state, err := o.db.DeliveryState(ctx, id)
	return state, advice.NoDelivery(id, err)
}

// event reads one event.
func (o *operator) event(ctx context.Context, id string) (postgres.EventState, error) {
	state, err := o.db.EventState(ctx, id)
	return state, advice.NoEvent(id, err)
}

// workflowStatus is that of the last run of a workflow; UNSPECIFIED: Temporal
// knows none.
func (o *operator) workflowStatus(ctx context.Context, id string) (enums.WorkflowExecutionStatus, error) {
	description, err := o.temporal.DescribeWorkflowExecution(ctx, id, "")
	if isNotFound(err) {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, nil
	}
	if err != nil {
		return 0, fmt.Errorf("describe %s: %w", id, err)
	}
	return description.GetWorkflowExecutionInfo().GetStatus(), nil
}

func (o *operator) running(ctx context.Context, id string) (bool, error) {
	status, err := o.workflowStatus(ctx, id)
	return status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// closeWait is how long a workflow may take to end after its row says so.
const closeWait = 5 * time.Second

// lastStatus is that of the last run of a workflow; UNSPECIFIED: Temporal knows
// none. One that wrote down its end is about to end, and is waited for.
func (o *operator) lastStatus(ctx context.Context, id string, written bool) (enums.WorkflowExecutionStatus, error) {
	for until := time.Now().Add(closeWait); ; {
		status, err := o.workflowStatus(ctx, id)
		if err != nil || status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || !written || time.Now().After(until) {
			return status, err
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

// wasSent says that a delivery is past changing.
func wasSent(state postgres.DeliveryState) bool {
	return state.Status == notification.Sent || state.Status == notification.Delivered
}

// patience is how long a command waits for workflows in vain, in all: where
// nobody works on them, a thousand are not waited for one by one.
type patience struct{ left atomic.Int64 }

func newPatience(d time.Duration) *patience {
	p := &patience{}
	p.left.Store(int64(d))
	return p
}

// wait waits until a workflow has ended, and says whether it has. The error is
// how it ended; who cares what came of it reads its row. Any other error is of the
// wait: Temporal may say that it is over a moment before our own clock does.
func (p *patience) wait(ctx context.Context, run client.WorkflowRun) (ended bool, err error) {
	limit := time.Duration(p.left.Load())
	if limit <= 0 {
		return false, nil
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = run.Get(waiting, nil)
	var end *failure.WorkflowExecutionError
	if err != nil && !errors.As(err, &end) {
		p.left.Add(-int64(time.Since(began)))
		return false, nil
	}
	return true, err
}

// pauseInterval is between two looks at what is about to change.
const pauseInterval = 200 * time.Millisecond

// pause waits for a moment, or until ctx ends.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pauseInterval):
		return nil
	}
}
