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

// CleanInput is the input of [CleanOutboxes].
type CleanInput struct {
	Outboxes []activities.CleanOutboxInput // that have a retention
}

// CleanResult is the result of [CleanOutboxes].
type CleanResult struct {
	Outboxes []activities.CleanOutboxResult // how far each came
}

// CleanOutboxes deletes rows that are done from some outboxes, all of them at
// once: while one cannot be cleaned, the others are. A schedule starts it. It fails with
// the first failure, once all have ended.
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
