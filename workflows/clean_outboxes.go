package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// cleanOptions limits the attempts: if the database stays out of reach, the next run cleans it.
var cleanOptions = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Minute,
	HeartbeatTimeout:    activities.CleanHeartbeat,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute, MaximumAttempts: 5},
	Summary:             "delete rows that are done",
}

// CleanInput is the input of [CleanOutboxes].
type CleanInput struct {
	Outboxes []activities.CleanOutboxInput // the outboxes and tables with a retention
}

// CleanResult is the result of [CleanOutboxes].
type CleanResult struct {
	Outboxes []activities.CleanOutboxResult // the results of outboxes without a failure
}

// CleanOutboxes concurrently deletes rows that are done from outboxes and from Herald's tables. It
// returns the first failure after all outboxes and tables are done. A schedule starts it.
func CleanOutboxes(ctx workflow.Context, in CleanInput) (CleanResult, error) {
	ctx = workflow.WithActivityOptions(ctx, cleanOptions)
	var cleanings []workflow.Future
	for _, outbox := range in.Outboxes {
		cleanings = append(cleanings, workflow.ExecuteActivity(ctx, acts.CleanOutbox, outbox))
	}
	var result CleanResult
	var err error
	for _, cleaning := range cleanings {
		var cleaned activities.CleanOutboxResult
		if cleanErr := cleaning.Get(ctx, &cleaned); cleanErr == nil {
			result.Outboxes = append(result.Outboxes, cleaned)
		} else if err == nil {
			err = cleanErr
		}
	}
	return result, err
}
