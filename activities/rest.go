package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// late is how long after it was planned a single message is recorded late, without the
	// provider's part: several times what it takes where the processors are free.
	late = 300 * time.Millisecond
	// rest is how long batches sleep after each group, and the planning of large events after
	// each page, during restsFor after a single message that was late.
	rest, restsFor = 300 * time.Millisecond, 30 * time.Second
)

// singles knows which single message of this process was late last. A message counts from the
// moment it was planned: from there on it waits for this worker, for Temporal and for the
// database alone.
type singles struct {
	mu     sync.Mutex
	until  time.Time // batches rest until then
	waited time.Duration
}

// note notes how long a message took from its planning to its record; 0: nobody knows.
func (s *singles) note(waited time.Duration) {
	if waited <= late {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until, s.waited = time.Now().Add(restsFor), waited
}

// resting says why batches rest, for people; empty: they do not.
func (s *singles) resting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.until) {
		return ""
	}
	return fmt.Sprintf("until %s: a single message waited %s", s.until.UTC().Format(time.TimeOnly), s.waited.Round(time.Millisecond))
}

// letPass rests for a moment while single messages are late. Each of the many steps of a small
// event waits for the processors, which planning or sending for many keeps busy.
func (s *singles) letPass(ctx context.Context) {
	if s.resting() == "" {
		return
	}
	activity.GetMetricsHandler(ctx).Counter(RestsMetric).Inc(1)
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
