package workflows

import "go.temporal.io/sdk/workflow"

var followUpOptions = minuteOptions("handle the follow-ups of deliveries")

// FollowUp publishes the dead letters of failed deliveries, and handles deliveries whose status
// changed after their workflows ended. It runs until it is cancelled. An installation has one. Its
// state is the table delivery_follow_up: if FollowUp or its worker ends, the next run continues
// with the rows.
func FollowUp(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, followUpOptions)
	for runs := 0; runs < pollsPerRun && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); runs++ {
		if err := workflow.ExecuteActivity(ctx, acts.FollowUp).Get(ctx, nil); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, FollowUp)
}
