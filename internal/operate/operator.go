// Package operate does operators' work: it cancels, hastens and retries
// deliveries and events, commands the pollers and deletes old rows. What it does
// to one delivery or event is decided in one place, which a dry run and a run
// share, and is recorded in operator_action before it is done.
package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/postgres"
)

// Order is who ordered what, as operator_action keeps it.
type Order struct {
	Actor   string
	Command string // delivery cancel
	Flags   string // --channel SMS
	Reason  string // in the actor's words; empty: none was given
}

// Operator carries out one order. The database says what deliveries and events
// are, and Temporal changes them.
type Operator struct {
	Order    Order
	Store    *postgres.Store
	Launcher *launch.Launcher

	waited atomic.Int64 // see [Operator.awaitEnd]
}

func (o *Operator) temporal() client.Client { return o.Launcher.Client }

// Record writes down that the targets are about to change. What cannot be recorded
// is not done. The reason of the order follows the detail.
func (o *Operator) Record(ctx context.Context, detail string, targets ...string) error {
	if o.Order.Reason != "" {
		detail = strings.TrimSpace(detail + " --reason " + o.Order.Reason)
	}
	return o.Store.RecordActions(ctx, o.Order.Actor, o.Order.Command, detail, targets)
}

// recordTimeout bounds the record of what a bulk action changed, also of one that was
// interrupted.
const recordTimeout = 5 * time.Second

// RecordChanged writes down how much a bulk action has changed: a second record, since the
// first comes before the change. An interruption does not keep it from being written.
func (o *Operator) RecordChanged(ctx context.Context, changed string, targets ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return o.Record(ctx, "changed "+changed, targets...)
}

func (o *Operator) delivery(ctx context.Context, id string) (postgres.DeliveryState, error) {
	state, err := o.Store.DeliveryState(ctx, id)
	return state, advice.NoDelivery(id, err)
}

func (o *Operator) event(ctx context.Context, id string) (postgres.EventState, error) {
	state, err := o.Store.EventState(ctx, id)
	return state, advice.NoEvent(id, err)
}

const (
	unknown = enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED // Temporal knows no such workflow
	running = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
)

// workflowStatus is the status of a workflow's last run.
func (o *Operator) workflowStatus(ctx context.Context, id string) (enums.WorkflowExecutionStatus, error) {
	description, err := launch.Describe(ctx, o.temporal(), id, "")
	return description.GetWorkflowExecutionInfo().GetStatus(), err
}

// closeTimeout is the time that a workflow may take to end after its row says so.
const closeTimeout = 5 * time.Second

// settledStatus is the status of a workflow's last run. If the row says already how
// it ended, the workflow is given a few seconds to do so.
func (o *Operator) settledStatus(ctx context.Context, id string, ended bool) (enums.WorkflowExecutionStatus, error) {
	for until := time.Now().Add(closeTimeout); ; {
		status, err := o.workflowStatus(ctx, id)
		if err != nil || status != running || !ended || time.Now().After(until) {
			return status, err
		}
		if err := sleep(ctx); err != nil {
			return unknown, err
		}
	}
}

// cancelWorkflow asks a workflow to end. One that has ended already is as good.
func (o *Operator) cancelWorkflow(ctx context.Context, id string) error {
	if err := o.temporal().CancelWorkflow(ctx, id, ""); err != nil && !launch.IsNotFound(err) {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	return nil
}

// awaitEnd waits until a workflow has ended, and reports whether it has. The error is
// how it ended. All vain waits of an order share one limit: where no worker runs, a
// thousand workflows are not waited for one by one.
func (o *Operator) awaitEnd(ctx context.Context, limit time.Duration, run client.WorkflowRun) (ended bool, err error) {
	left := limit - time.Duration(o.waited.Load())
	if left <= 0 {
		return false, nil
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err = run.Get(waiting, nil)
	var end *temporal.WorkflowExecutionError
	if err != nil && !errors.As(err, &end) { // the wait is over: by our clock, or by Temporal's
		o.waited.Add(int64(time.Since(began)))
		return false, nil
	}
	return true, err
}

// lookInterval is between two looks at what is about to change.
const lookInterval = 200 * time.Millisecond

// sleep lasts until the next look, or until ctx ends.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lookInterval):
		return nil
	}
}
