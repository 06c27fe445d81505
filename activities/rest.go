package activities

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// late is how long after its event's commit a single message is sent late, without the
	// provider's part: several times what it takes where the machine has time.
	late = 300 * time.Millisecond
	// rest is how long those rest who plan or send for many, after each page and each group,
	// and restsFor for how long after a message that was late.
	rest, restsFor = 300 * time.Millisecond, 30 * time.Second
)

// singles knows when a single message was last late.
type singles struct {
	lastLate atomic.Int64 // in nanoseconds of the Unix epoch; 0: none was
}

// note notes how long after its event's commit a message was sent.
func (s *singles) note(took time.Duration) {
	if took > late {
		s.lastLate.Store(time.Now().UnixNano())
	}
}

// letPass rests for a moment if a single message was late. Each of the many steps of a small
// event waits for the processors, and who plans or sends for many keeps all of them busy.
func (s *singles) letPass(ctx context.Context) {
	if time.Since(time.Unix(0, s.lastLate.Load())) > restsFor {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
