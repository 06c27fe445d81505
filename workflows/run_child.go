package workflows

import (
	"cmp"
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

// runChild runs a child to its end and returns its error. Its result is in the rows of the
// deliveries.
//
// An earlier run of the event, or an operator, may have started the same child already. Then
// runChild waits until that child has ended and starts a new child, unless the first child
// completed and the options allow no duplicate. If another type of workflow has the id, it starts
// nothing and returns a description of that workflow.
func runChild(ctx workflow.Context, options workflow.ChildWorkflowOptions, workflowType string, start func(ctx workflow.Context) workflow.ChildWorkflowFuture) (other string, err error) {
	ctx = workflow.WithChildOptions(ctx, options)
	holder := activities.HolderInput{
		WorkflowID: options.WorkflowID, Type: workflowType, TaskQueue: cmp.Or(options.TaskQueue, workflow.GetInfo(ctx).TaskQueueName),
	}
	for {
		if err := start(ctx).Get(ctx, nil); !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return "", err
		}
		held, err := execute[activities.HolderResult](ctx, holderOptions, acts.AwaitHolder, holder)
		if err != nil {
			return "", err // ctx was cancelled
		}
		if held.Other != "" || (held.Completed && options.WorkflowIDReusePolicy != allowDuplicate) {
			return held.Other, nil
		}
	}
}
