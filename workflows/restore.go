package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// RestoreInput is the input of [Restore].
type RestoreInput struct {
	Rate   int  // questions to Temporal a second
	DryRun bool // only count what does not run

	Resend notification.Resend `json:",omitempty"` // what to do with rows that may have been sent
}

// RestoreResult is the result of [Restore].
type RestoreResult struct {
	Restored notification.Restored `json:"restored,omitzero"` // zero: a dry run
	Left     notification.Restored `json:"left"`              // the check after it
}

var restoreOptions = operatorOptions("start what the tables have and Temporal lacks")

// operatorOptions lets an operator's order take as long as its rows need. If a heartbeat is missing, the
// worker died, and the next attempt continues.
func operatorOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    activities.SweepHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             summary,
	}
}

// Restore starts all workflows that should run by the tables, and then checks that they run. An
// operator starts it after Temporal has lost workflows.
func Restore(ctx workflow.Context, in RestoreInput) (result RestoreResult, err error) {
	restore, check := activities.RestoreInput{Rate: in.Rate, Resend: in.Resend}, activities.RestoreInput{Rate: in.Rate, Check: true}
	if !in.DryRun {
		if result.Restored, err = execute[notification.Restored](ctx, restoreOptions, acts.Restore, restore); err != nil {
			return result, err
		}
	}
	result.Left, err = execute[notification.Restored](ctx, restoreOptions, acts.Restore, check)
	return result, err
}
