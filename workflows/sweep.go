package workflows

import (
	"cmp"
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
// or ends them. A schedule starts it. A sweep that began with release 0.2 gives up each lost
// delivery by a separate activity.
func Sweep(ctx workflow.Context) (notification.Sweep, error) {
	var result activities.SweepResult
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, sweepOptions), acts.Sweep).Get(ctx, &result); err != nil {
		return notification.Sweep{}, err
	}
	ctx = workflow.WithActivityOptions(ctx, recordOptions)
	var ends []workflow.Future
	for _, lost := range result.GiveUp {
		ends = append(ends, workflow.ExecuteActivity(ctx, acts.GiveUp, lost))
	}
	var err error
	for _, end := range ends {
		err = cmp.Or(err, end.Get(ctx, nil))
	}
	return result.Sweep, err
}
