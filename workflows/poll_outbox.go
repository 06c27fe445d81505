// Package workflows decides what happens to an event and its notifications, and
// in which order. It is deterministic: everything that touches the world is an
// activity.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// acts is never dereferenced: it only names the activities.
var acts *activities.Activities

// pollOptions: an activity polls for a minute and hands over. A dead worker is
// noticed by its missing heartbeat; whatever else fails is tried again for ever.
var pollOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 3 * time.Minute,
	HeartbeatTimeout:    activities.PollHeartbeat,
	WaitForCancellation: true, // what was claimed is brought to its end
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second},
	Summary:             "start the workflows of pending events",
}

// pollsPerRun keeps a run's history under 1,000 events, about two hours.
const pollsPerRun = 120

// PollOutbox polls event_outbox until it is cancelled. Several may run side by
// side.
func PollOutbox(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, pollOptions)
	for range pollsPerRun {
		var result activities.PollOutboxResult
		err := workflow.ExecuteActivity(ctx, acts.PollOutbox).Get(ctx, &result)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, PollOutbox)
}
