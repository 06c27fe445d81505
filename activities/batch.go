package activities

import (
	"context"
	"slices"
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

	mu         sync.Mutex
	ids        []string // that no group has
	progress   BatchProgress
	unrecorded []notification.AttemptResult
	err        error // of the database, or no turn came: no group is begun any more
}

// newBatch goes on from the progress that an earlier execution gave with its last heartbeat.
func newBatch(ctx context.Context, a *Activities, in SendBatchInput, ids []string) *batch {
	b := &batch{
		activities: a, in: in, ids: ids, until: time.Now().Add(batchStint), deadline: activity.GetInfo(ctx).Deadline,
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

// send sends group after group, some at the same time.
func (b *batch) send(ctx context.Context) {
	var groups sync.WaitGroup
	for range groupsAtOnce {
		groups.Go(func() {
			for {
				ids, turn := b.next(ctx)
				if len(ids) == 0 {
					return
				}
				b.sendGroup(ctx, ids, turn)
			}
		})
	}
	groups.Wait()
}

// next takes the next group, as large as the channel's rate limit lets it be; it is empty
// when no more is to be begun. A batch that gets no turn gives its slot back.
func (b *batch) next(ctx context.Context) ([]string, turn) {
	ids := b.take(ctx)
	if len(ids) == 0 {
		return nil, turn{}
	}
	waiting, cancel := context.WithTimeoutCause(ctx, turnPatience, errNoTurn)
	defer cancel()
	turn, granted, err := b.activities.turns(waiting, b.in.Channel, len(ids), true)
	switch {
	case err != nil:
		b.fail(err)
	case b.over(ctx): // it was stopped meanwhile
		granted = 0
	}
	b.giveBack(ids[granted:])
	return ids[:granted], turn
}

// over says that no more groups are to be begun.
func (b *batch) over(ctx context.Context) bool {
	return ctx.Err() != nil || time.Now().After(b.until) || isClosed(b.stopped)
}

func (b *batch) take(ctx context.Context) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.over(ctx) {
		return nil
	}
	n := min(groupSize, len(b.ids))
	taken := b.ids[:n:n]
	b.ids = b.ids[n:]
	return taken
}

func (b *batch) giveBack(ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids = append(slices.Clone(ids), b.ids...)
}

func isClosed(stopped <-chan struct{}) bool {
	select {
	case <-stopped:
		return true
	default:
		return false
	}
}
