package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// holderOptions ask again until whoever has the id has ended, however long that
// takes: what it does is not to be done beside it. Asking again leaves no trace
// in the history.
var holderOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 20 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	Summary:             "wait for the workflow that has the id",
}

// runOnceFree runs a child to its end. One that is refused since its id is taken
// is started when the same thing, begun by an earlier run of the event or by an
// operator, has ended; unless that has completed, and the child's options rule a
// repeat out. A stranger that has the id is named, and nothing is started.
//
// How the child ends is of no concern here: it reports through its rows.
func runOnceFree(ctx workflow.Context, holder activities.HolderInput, start func() workflow.ChildWorkflowFuture) (stranger string) {
	repeats := workflow.GetChildWorkflowOptions(ctx).WorkflowIDReusePolicy == allowDuplicate
	for {
		if err := start().Get(ctx, nil); !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return ""
		}
		var held activities.HolderResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, holderOptions), acts.AwaitHolder, holder).Get(ctx, &held); err != nil {
			return ""
		}
		if held.Stranger != "" || (held.Completed && !repeats) {
			return held.Stranger
		}
	}
}
