package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// holderOptions retries forever: the activity fails while the workflow that has the id still runs.
// Its attempts add no events to the history.
var holderOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 20 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	Summary:             "wait for the workflow that has the id",
}

// errTerminated means that somebody terminated the child.
var errTerminated = errors.New("somebody terminated the workflow")

// runChild runs a child to its end and returns its error. Its result is in the rows of the
// deliveries.
//
// An earlier run of the event, or an operator, may have started the same child already. Then
// runChild waits until that child has ended and starts a new child, unless the first child was
// terminated, or it completed and the options allow no duplicate. If another type of workflow has
// the id, it starts nothing and returns a description of that workflow.
func runChild(
	ctx workflow.Context, options workflow.ChildWorkflowOptions, workflowType string,
	start func(ctx workflow.Context) workflow.ChildWorkflowFuture,
) (other string, err error) {
	holder := activities.HolderInput{
		WorkflowID: options.WorkflowID, Type: workflowType, TaskQueue: cmp.Or(options.TaskQueue, workflow.GetInfo(ctx).TaskQueueName),
	}
	for {
		if err := runOnce(ctx, options, start); !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return "", err
		}
		held, err := execute[activities.HolderResult](ctx, holderOptions, acts.AwaitHolder, holder)
		switch {
		case err != nil:
			return "", err // ctx was cancelled
		case held.Other != "":
			return held.Other, nil
		case held.State == activities.WorkflowTerminated:
			return "", errTerminated
		case held.State == activities.WorkflowCompleted && options.WorkflowIDReusePolicy != allowDuplicate:
			return "", nil
		}
	}
}

// runOnce starts a child and waits for its end. If ctx is cancelled, it cancels the child by its id,
// because Temporal refuses a cancellation in the name of a parent that was reset.
func runOnce(
	ctx workflow.Context, options workflow.ChildWorkflowOptions, start func(ctx workflow.Context) workflow.ChildWorkflowFuture,
) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	disconnected, _ := workflow.NewDisconnectedContext(ctx)
	child := start(workflow.WithChildOptions(disconnected, options))
	ended := workflow.NewSelector(disconnected)
	ended.AddFuture(child, func(workflow.Future) {})
	ended.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {
		if child.GetChildWorkflowExecution().Get(disconnected, nil) == nil {
			workflow.RequestCancelExternalWorkflow(disconnected, options.WorkflowID, "")
		}
	})
	ended.Select(disconnected)
	return child.Get(disconnected, nil)
}

// signalChild signals a child by its id, because Temporal refuses a signal in the name of a parent
// that was reset. It ignores that the child has ended.
func signalChild(ctx workflow.Context, child workflow.ChildWorkflowFuture, id, signal string) {
	if child.GetChildWorkflowExecution().Get(ctx, nil) == nil {
		_ = workflow.SignalExternalWorkflow(ctx, id, "", signal, nil).Get(ctx, nil)
	}
}
