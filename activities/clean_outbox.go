package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
)

// Cleaner deletes rows of an outbox, or of another table of Herald, that have been done for longer
// than an age. It deletes batch by batch, from a cursor; "": from the first row. After each batch
// it calls said with the number of deleted rows and the cursor, and stops if said returns false.
type Cleaner interface {
	Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error
}

const (
	// CleanHeartbeat is the time after which Temporal takes a worker for dead. A batch takes
	// less.
	CleanHeartbeat = 2 * time.Minute
	// cleanTime is the time for which one run deletes rows; the next run continues.
	cleanTime = 10 * time.Minute
)

// CleanOutboxInput is the input of [Activities.CleanOutbox].
type CleanOutboxInput struct {
	Source    string        // the name of the cleaner: a source, or "herald." and a table
	Retention time.Duration // the minimum age of rows that are deleted
}

// CleanOutboxResult is the progress of [Activities.CleanOutbox].
type CleanOutboxResult struct {
	Source  string
	Deleted int
	After   string `json:",omitempty"` // the cursor of the last row that it looked at
	More    bool   `json:",omitempty"` // the run's time is over: the next run continues
}

// CleanOutbox deletes the rows of one cleaner that are done and old enough. When its process
// dies, the next attempt continues after the last batch.
func (a *Activities) CleanOutbox(ctx context.Context, in CleanOutboxInput) (CleanOutboxResult, error) {
	cleaner, known := a.Cleaners[in.Source]
	if !known {
		return CleanOutboxResult{}, permanent(fmt.Errorf("this worker has no outbox source named %q", in.Source), UnknownSource)
	}
	result := CleanOutboxResult{Source: in.Source}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &result); err != nil {
			return CleanOutboxResult{}, fmt.Errorf("read the progress of the last attempt: %w", err)
		}
	}
	until := time.Now().Add(cleanTime)
	err := cleaner.Clean(ctx, in.Retention, result.After, func(deleted int, after string) bool {
		result.Deleted, result.After = result.Deleted+deleted, after
		activity.RecordHeartbeat(ctx, result)
		ofSource(ctx, in.Source).Counter(RowsDeletedMetric).Inc(int64(deleted))
		result.More = !time.Now().Before(until)
		return !result.More && ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return result, err
}
