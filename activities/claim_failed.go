package activities

import (
	"context"

	"herald/internal/notification"
)

// FailedStore finds deliveries of batches that failed permanently.
type FailedStore interface {
	// ClaimFailed marks and returns up to limit failed deliveries of a part, in the order of
	// notification.id. Each gets a failed workflow. It marks at most `most` deliveries of an event.
	// A repeat returns the same deliveries. next is the first id of the next call; 0: none are
	// left.
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

// ClaimFailed lists permanently failed deliveries of a batch. Each gets a failed workflow, so that
// operators find it in Temporal.
func (a *Activities) ClaimFailed(ctx context.Context, in ClaimFailedInput) (ClaimFailedResult, error) {
	failed, next, err := a.Failures.ClaimFailed(ctx, in.Part, maxFailedChildren, listedAtOnce)
	return ClaimFailedResult{failed, next}, err
}
