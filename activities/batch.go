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
	until      time.Time // it begins no group after that
	deadline   time.Time // of the activity
	stopped    <-chan struct{}
	beat       func(progress BatchProgress)

	ids        []string // that no group has had
	unrecorded []notification.AttemptResult
	err        error // of the database, or no turn came: no group is begun any more

	mu       sync.Mutex // of what follows
	progress BatchProgress
}

// newBatch goes on from the progress that an earlier execution gave with its last heartbeat.
func newBatch(ctx context.Context, a *Activities, in SendBatchInput, ids []string) *batch {
	b := &batch{
		activities: a, in: in, ids: ids, until: time.Now().Add(batchStint + rand.N(batchStint)), deadline: activity.GetInfo(ctx).Deadline,
		stopped: activity.GetWorkerStopChannel(ctx),
		beat:    func(progress BatchProgress) { activity.RecordHeartbeat(ctx, progress) },
	}
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &b.progress) // what cannot be read is only when some are due
	}
	if b.progress.Later == nil {
		b.progress.Later = map[string]time.Time{}
	}
	return b
}

// send sends group after group.
func (b *batch) send(ctx context.Context) {
	for {
		ids, turn := b.next(ctx)
		if len(ids) == 0 {
			return
		}
		b.sendGroup(ctx, ids, turn)
		if b.activities.RateLimits[b.in.Channel] == 0 { // else it waits for turns, and others go first
			b.activities.singles.letPass(ctx)
		}
	}
}

// next takes the next group, as large as the channel's rate limit lets it be; it is empty
// when no more is to be begun. A batch that gets no turn gives its slot back.
func (b *batch) next(ctx context.Context) ([]string, turn) {
	if len(b.ids) == 0 || b.err != nil || b.over(ctx) {
		return nil, turn{}
	}
	waiting, cancel := context.WithTimeoutCause(ctx, turnPatience, errNoTurn)
	defer cancel()
	turn, granted, err := b.activities.turns(waiting, b.in.Channel, min(groupSize, len(b.ids)), true)
	switch {
	case err != nil:
		b.fail(err)
	case b.ended(ctx): // meanwhile; one whose time is over still uses the turn, which nobody else has
		granted = 0
	}
	group := b.ids[:granted]
	b.ids = b.ids[granted:]
	return group, turn
}

// over says that no more groups are to be begun.
func (b *batch) over(ctx context.Context) bool {
	return b.ended(ctx) || time.Now().After(b.until)
}

// ended says that the batch was cancelled, or that its worker stops.
func (b *batch) ended(ctx context.Context) bool {
	return ctx.Err() != nil || isClosed(b.stopped)
}

func isClosed(stopped <-chan struct{}) bool {
	select {
	case <-stopped:
		return true
	default:
		return false
	}
}
