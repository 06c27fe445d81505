package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// late is the time from planning to recording, without the provider's call, above which a
	// single message is late. It is twice the median of an idle machine, 60 to 70 ms in a
	// benchmark.
	late = 150 * time.Millisecond
	// After a late single message, batches sleep for yieldPause between groups, and the planning
	// of large events between pages, during the next yieldsFor.
	yieldPause, yieldsFor = 300 * time.Millisecond, 30 * time.Second
)

// singles holds the last late single message of this process. Its time starts at planning: from
// then on it waits only for workers, Temporal and the database.
type singles struct {
	mu     sync.Mutex
	until  time.Time // batches yield until then
	waited time.Duration
}

// note takes one message's time from planning to recording, without the provider's call; 0:
// unknown.
func (s *singles) note(waited time.Duration) {
	if waited <= late {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until, s.waited = time.Now().Add(yieldsFor), waited
}

// yieldReason returns the reason why batches yield, for operators; empty: they do not.
func (s *singles) yieldReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.until) {
		return ""
	}
	return fmt.Sprintf("until %s: a single message waited %s", s.until.UTC().Format(time.TimeOnly), s.waited.Round(time.Millisecond))
}

// waitForSingles sleeps for yieldPause while single messages are late: a broadcast keeps the processors
// busy, so each step of a small event waits.
func (s *singles) waitForSingles(ctx context.Context) {
	if s.yieldReason() == "" {
		return
	}
	activity.GetMetricsHandler(ctx).Counter(YieldsMetric).Inc(1)
	sleep(ctx, yieldPause, nil)
}
