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
	// After a late single message, batches sleep for rest between groups, and the planning
	// of large events between pages, during the next restsFor.
	rest, restsFor = 300 * time.Millisecond, 30 * time.Second
)

// singles holds the last late single message of this process. Its time starts at planning: from
// then on it waits only for workers, Temporal and the database.
type singles struct {
	mu     sync.Mutex
	until  time.Time // batches rest until then
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

// waitForSingles sleeps for rest while single messages are late: a broadcast keeps the processors
// busy, so each step of a small event waits.
func (s *singles) waitForSingles(ctx context.Context) {
	if s.resting() == "" {
		return
	}
	activity.GetMetricsHandler(ctx).Counter(RestsMetric).Inc(1)
	sleep(ctx, rest, nil)
}
