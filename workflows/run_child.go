package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// holderOptions: the activity fails while the workflow that has the id still
// runs, and is tried again, however long that takes. Such attempts leave no trace
// in the history.
var holderOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 20 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	Summary:             "wait for the workflow that has the id",
}

// runChild runs a child to its end and returns its error. What became of its deliveries
// is in their rows.
//
// An earlier run of the event, or an operator, may have started the same child
// already. Then runChild waits until that child has ended and starts its own, unless that
// child completed and the options allow no duplicate. If a workflow of another kind
// has the id, it starts nothing and returns that workflow's description.
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
