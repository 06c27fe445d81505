package activities

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// batch is a running [Activities.SendBatch].
type batch struct {
	activities *Activities
	in         SendBatchInput
	until      time.Time // no group begins after this time
	deadline   time.Time // of the activity

	ids        []string // deliveries that are not in a group yet
	unrecorded []notification.AttemptResult
	err        error // of the database, or no token came: no further group begins

	mu sync.Mutex // guards the fields below
	// allBackOff is set if the circuits of all providers are open, or all are at their limits.
	allBackOff error
	progress   BatchProgress
}

// newBatch reads the deliveries of a batch. It continues from the progress in the last heartbeat of an
// earlier execution.
func newBatch(ctx context.Context, a *Activities, in SendBatchInput) (*batch, error) {
	reading, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	ids, err := a.Batches.BatchDeliveries(reading, in.EventID, in.Channel, in.IDs)
	if err != nil {
		return nil, err
	}
	b := &batch{
		activities: a, in: in, ids: ids, until: time.Now().Add(batchStint + rand.N(batchStint)), deadline: activity.GetInfo(ctx).Deadline,
	}
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &b.progress) // an error loses only counts
	}
	return b, nil
}

// send sends group after group.
func (b *batch) send(ctx context.Context) {
	for len(b.ids) > 0 && b.err == nil && !b.over(ctx) {
		n := min(b.groupSize(), len(b.ids))
		group := b.ids[:n]
		b.ids = b.ids[n:]
		b.sendGroup(ctx, group)
		if b.activities.Pace.Rate(b.in.Channel) == 0 { // a rate limit's tokens already put single messages first
			b.activities.singles.waitForSingles(ctx)
		}
	}
}

// groupSize returns the number of attempts to begin together: under a rate limit, one
// second's attempts.
func (b *batch) groupSize() int {
	rate := b.activities.Pace.Rate(b.in.Channel)
	if rate == 0 {
		return groupSize
	}
	return int(min(max(1, rate), groupSize))
}

// over reports whether the batch begins no more groups.
func (b *batch) over(ctx context.Context) bool {
	return b.ended(ctx) || time.Now().After(b.until)
}

// ended reports whether the batch was cancelled, or its worker stops.
func (b *batch) ended(ctx context.Context) bool {
	return ctx.Err() != nil || stopping(ctx)
}

// snapshot returns the current progress.
func (b *batch) snapshot() BatchProgress {
	b.mu.Lock()
	defer b.mu.Unlock()
	progress := b.progress
	progress.Resting = b.activities.singles.yieldReason()
	return progress
}
