package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// cleanOptions: a database that stays away is left to the next run.
var cleanOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Minute,
	HeartbeatTimeout:    activities.CleanHeartbeat,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute, MaximumAttempts: 5},
	Summary:             "delete rows that are done",
}

// CleanOutboxes deletes rows that are done from the outboxes that have a retention, all of
// them at once: one that cannot be cleaned keeps the others from nothing. A schedule
// starts it. It returns how far each came, and the first failure.
func CleanOutboxes(ctx workflow.Context, outboxes []activities.CleanOutboxInput) ([]activities.CleanOutboxResult, error) {
	ctx = workflow.WithActivityOptions(ctx, cleanOptions)
	var cleanings []workflow.Future
	for _, outbox := range outboxes {
		cleanings = append(cleanings, workflow.ExecuteActivity(ctx, acts.CleanOutbox, outbox))
	}
	var results []activities.CleanOutboxResult
	var err error
	for _, cleaning := range cleanings {
		var result activities.CleanOutboxResult
		if cleanErr := cleaning.Get(ctx, &result); cleanErr == nil {
			results = append(results, result)
		} else if err == nil {
			err = cleanErr
		}
	}
	return results, err
}
