package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// followUpOptions: an activity works for a minute and hands over to the next. A missing
// heartbeat shows that its worker died. Failures are retried for ever.
var followUpOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 3 * time.Minute,
	HeartbeatTimeout:    activities.PollHeartbeat,
	WaitForCancellation: true, // it ends what it has begun first
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	Summary:             "do what follows receipts, acknowledgements and readers",
}

// followUpsPerRun keeps a run's history under 1,000 events, about two hours.
const followUpsPerRun = 120

// FollowUp does what is still to be done about deliveries whose status has changed after
// their own workflows had ended, until it is cancelled. There is one of an installation. The
// rows of delivery_follow_up are its memory: whenever it or its worker ends, the next one
// continues with them.
func FollowUp(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, followUpOptions)
	for runs := 0; runs < followUpsPerRun && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); runs++ {
		if err := workflow.ExecuteActivity(ctx, acts.FollowUp).Get(ctx, nil); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, FollowUp)
}
