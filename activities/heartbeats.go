package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeats sends Temporal a heartbeat at intervals, until stop is called. progress returns the
// data from which the next attempt continues; nil: no data. Heartbeats continue while a cancelled
// activity ends its work. Otherwise Temporal would take the activity for dead, and a poller's
// workflow would show "paused" while the poller still starts events.
func heartbeats(ctx context.Context, every time.Duration, progress func() any) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if progress == nil {
					activity.RecordHeartbeat(ctx)
				} else {
					activity.RecordHeartbeat(ctx, progress())
				}
			}
		}
	})
	return func() {
		cancel()
		beating.Wait()
	}
}
