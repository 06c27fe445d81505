// Package operate does the operators' work: it cancels, sends and retries deliveries and events,
// commands the pollers and deletes old rows. For each delivery or event, one function plans the
// change. A dry run and a run share this plan. A change is recorded in operator_action before it is
// done.
package operate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/internal/audit"
	"herald/internal/db"
	"herald/internal/launch"
)

// Order is an operator's command, as table operator_action records it.
type Order struct {
	Actor   string
	Command string // such as delivery cancel
	Flags   string // such as --channel SMS
	Reason  string // in the operator's words; empty: none was given
	Form    string // the id of the console's form, which may give one order; empty: no form gave it
}

// cause tells in a workflow's history who ordered its end, and why. The console gives the orders of
// many people with one Temporal identity, so the identity alone does not tell.
func (o Order) cause() string {
	cause := o.Command + " by " + o.Actor
	if o.Reason != "" {
		cause += ": " + o.Reason
	}
	return cause
}

// Operator carries out one order. It reads the state of deliveries and events from the database,
// and changes them by Temporal.
type Operator struct {
	Order    Order
	DB       *db.DB
	Launcher *launch.Launcher

	waited atomic.Int64 // nanoseconds; see [Operator.awaitEnd]
}

func (o *Operator) temporal() client.Client { return o.Launcher.Client }

// Record writes down that the targets are about to change. If it fails, the caller must not change
// them. The reason of the order is added to the detail.
func (o *Operator) Record(ctx context.Context, detail string, targets ...string) error {
	if o.Order.Reason != "" {
		detail = strings.TrimSpace(detail + " --reason " + o.Order.Reason)
	}
	return audit.On(o.DB).RecordActions(ctx, o.Order.Actor, o.Order.Command, detail, o.Order.Form, targets)
}

// recordTimeout bounds the record of a bulk action's changes, also after an interruption.
const recordTimeout = 5 * time.Second

// RecordChanged writes down how much a bulk action has changed. It is a second record, because the
// first is written before the change. It is written even if ctx is cancelled.
func (o *Operator) RecordChanged(ctx context.Context, changed string, targets ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return o.Record(ctx, "changed "+changed, targets...)
}

const (
	unknown = enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED // Temporal knows no such workflow
	running = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
)

// workflowStatus returns the status of a workflow's last run.
func (o *Operator) workflowStatus(ctx context.Context, id string) (enums.WorkflowExecutionStatus, error) {
	description, err := launch.Describe(ctx, o.temporal(), id, "")
	return description.GetWorkflowExecutionInfo().GetStatus(), err
}

// closeTimeout is the time that a workflow may take to end after its row records the end.
const closeTimeout = 5 * time.Second

// settledStatus returns the status of a workflow's last run. If the row records the end already, it
// waits a few seconds for the workflow to end.
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

// awaitEnd waits until a workflow has ended, and reports whether it has. The error is the
// workflow's error. All waits of an order that time out share one limit: if no worker runs, the
// order does not wait for a thousand workflows one by one.
func (o *Operator) awaitEnd(ctx context.Context, limit time.Duration, run client.WorkflowRun) (ended bool, err error) {
	left := limit - time.Duration(o.waited.Load())
	if left <= 0 {
		return false, nil
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err = run.Get(waiting, nil)
	if err != nil && !errors.As(err, new(*temporal.WorkflowExecutionError)) { // the wait timed out, by our clock or by Temporal's
		o.waited.Add(int64(time.Since(began)))
		return false, nil
	}
	return true, err
}

// lookInterval is the time between two reads of a state that is about to change.
const lookInterval = 200 * time.Millisecond

// sleep waits for lookInterval, or until ctx ends.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lookInterval):
		return nil
	}
}
