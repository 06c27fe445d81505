package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// sweepOptions is for a sweep of some minutes. Temporal retries failures, and the schedule starts
// no other sweep meanwhile.
var sweepOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Minute,
	HeartbeatTimeout:    activities.SweepHeartbeat,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	Summary:             "compare the tables with Temporal",
}

// Sweep finds events and deliveries whose workflows were lost, and starts them again
// or ends them. A schedule starts it.
func Sweep(ctx workflow.Context) (found notification.Sweep, err error) {
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, sweepOptions), acts.Sweep).Get(ctx, &found)
	return found, err
}
