package activities

import (
	"context"

	"herald/internal/notification"
)

// FailedStore finds the deliveries that failed for good in batches.
type FailedStore interface {
	// ClaimFailed returns a part's failed deliveries that get a failed workflow each: the first
	// by notification.id, up to limit. It marks them, and marks at most `most` of one event. A
	// repeat returns the same. next is the first id to read after them; 0: that was all.
	ClaimFailed(ctx context.Context, part notification.Part, most, limit int) (failed []notification.FailedDelivery, next int64, err error)
}

// maxFailedChildren limits the failed workflows that the batches of one event start.
const maxFailedChildren = 1000

// ClaimFailedInput is the input of [Activities.ClaimFailed].
type ClaimFailedInput struct {
	notification.Part
}

// ClaimFailedResult is the result of [Activities.ClaimFailed].
type ClaimFailedResult struct {
	Failed []notification.FailedDelivery
	Next   int64 `json:",omitempty"` // the first notification.id of the next list; 0: this was the last one
}

// ClaimFailed lists deliveries of a batch that failed for good and get a failed workflow, so
// that operators find them in Temporal.
func (a *Activities) ClaimFailed(ctx context.Context, in ClaimFailedInput) (ClaimFailedResult, error) {
	failed, next, err := a.Failures.ClaimFailed(ctx, in.Part, maxFailedChildren, listedAtOnce)
	return ClaimFailedResult{failed, next}, err
}
