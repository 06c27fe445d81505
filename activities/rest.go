package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// late is the time from planning to recording, without the provider's part, from which
	// a single message counts as late. It is twice the median of an idle machine: a benchmark
	// measures 60 to 70 ms.
	late = 150 * time.Millisecond
	// After a late single message, batches sleep for rest between groups, and the planning
	// of large events between pages, during the next restsFor.
	rest, restsFor = 300 * time.Millisecond, 30 * time.Second
)

// singles holds the last late single message of this process. Its time starts at planning:
// from then on a message waits only for this worker, for Temporal and for the database.
type singles struct {
	mu     sync.Mutex
	until  time.Time // batches rest until then
	waited time.Duration
}

// note takes one message's time from planning to recording, without the provider's part; 0:
// unknown.
func (s *singles) note(waited time.Duration) {
	if waited <= late {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until, s.waited = time.Now().Add(restsFor), waited
}

// resting returns the reason why batches rest, for operators; empty: they do not.
func (s *singles) resting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.until) {
		return ""
	}
	return fmt.Sprintf("until %s: a single message waited %s", s.until.UTC().Format(time.TimeOnly), s.waited.Round(time.Millisecond))
}

// waitForSingles sleeps for rest while single messages are late: a broadcast keeps the
// processors busy, and each step of a small event waits for them.
func (s *singles) waitForSingles(ctx context.Context) {
	if s.resting() == "" {
		return
	}
	activity.GetMetricsHandler(ctx).Counter(RestsMetric).Inc(1)
	sleep(ctx, rest, nil)
}
