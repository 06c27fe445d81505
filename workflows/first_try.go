package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// firstTry returns the options of a local activity that is tried once.
func firstTry(timeout time.Duration, summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: timeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	}
}

// first runs an activity once as a local activity, which saves Temporal half of the writes. If the
// local activity fails temporarily, first runs the normal activity to its end. A cancelled workflow
// waits for the local activity, so that no statement runs after the workflow's end. After a
// time-out, the normal activity may repeat the local activity's work.
func first[Result any](
	ctx workflow.Context, try workflow.LocalActivityOptions, options workflow.ActivityOptions, activity, input any,
) (result Result, err error) {
	if ctx.Err() == nil {
		whole, release := workflow.NewDisconnectedContext(ctx)
		defer release()
		err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(whole, try), activity, input).Get(whole, &result)
		if err == nil || activities.IsPermanent(err) {
			return result, cmp.Or(err, ctx.Err())
		}
	}
	return execute[Result](ctx, options, activity, input)
}
