package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// followUpOptions are for an activity that works for a minute and hands over to the next. If a
// heartbeat is missing, its worker died. Failures are retried for ever.
var followUpOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 3 * time.Minute,
	HeartbeatTimeout:    activities.PollHeartbeat,
	WaitForCancellation: true, // it first ends the follow-ups that it has begun
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	Summary:             "do what follows receipts, acknowledgements and readers",
}

// followUpsPerRun keeps a run's history under 1,000 events, about two hours.
const followUpsPerRun = 120

// FollowUp handles deliveries whose status has changed after their workflows had ended, until
// it is cancelled. An installation has one. The rows of delivery_follow_up hold its state: if
// it or its worker ends, the next run continues with the rows.
func FollowUp(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, followUpOptions)
	for runs := 0; runs < followUpsPerRun && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); runs++ {
		if err := workflow.ExecuteActivity(ctx, acts.FollowUp).Get(ctx, nil); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, FollowUp)
}
