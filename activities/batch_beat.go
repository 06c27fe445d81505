package activities

import (
	"sync"
	"time"
)

// beatWhile sends heartbeats with the progress until work returns.
func (b *batch) beatWhile(work func()) {
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(beatInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.beat(b.told())
			}
		}
	})
	work()
	close(done)
	beating.Wait()
}

// told returns the current progress.
func (b *batch) told() BatchProgress {
	b.mu.Lock()
	defer b.mu.Unlock()
	progress := b.progress
	progress.Resting = b.activities.singles.resting()
	return progress
}
