package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// firstTry are the options of a local activity that is tried once.
func firstTry(timeout time.Duration, summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{StartToCloseTimeout: timeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary}
}

// first tries once to run an activity as a local one, which saves Temporal half of the
// writes. If that fails for now, it runs the activity to its end. A cancelled workflow waits
// for the local one, so that nothing continues behind its back. A time-out is no
// answer: the activity may then do once more what the local one has done.
func first[Result any](ctx workflow.Context, try workflow.LocalActivityOptions, options workflow.ActivityOptions, activity, input any) (result Result, err error) {
	if ctx.Err() == nil {
		whole, release := workflow.NewDisconnectedContext(ctx)
		defer release()
		err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(whole, try), activity, input).Get(whole, &result)
		if err == nil || permanent(err) {
			return result, cmp.Or(err, ctx.Err())
		}
	}
	return execute[Result](ctx, options, activity, input)
}
