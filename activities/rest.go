package activities

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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

// maxRetryInterval caps the growing intervals between attempts. Senders clamp a
// provider's Retry-After to the same time.
const maxRetryInterval = 15 * time.Minute

const (
	// accountRetry is the interval after a provider rejected our account. An operator has
	// to correct the credentials, and more attempts may lock the account.
	accountRetry = time.Minute
	// accountPatience is the time from the first rejection until a message fails.
	accountPatience = 24 * time.Hour
)

// interval returns the time until the next attempt, if `ended` attempts failed before this one.
func (p AttemptPolicy) interval(ended int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return jittered(0, retryAfter)
	}
	grown := float64(p.FirstRetry) * math.Pow(max(p.Coefficient, 1), float64(ended))
	return jittered(time.Duration(min(grown, float64(max(maxRetryInterval, p.FirstRetry)))), 0)
}

// jittered varies an interval by up to a fifth either way, so that messages that
// failed together are not repeated together. If retryAfter is longer than the interval,
// it returns retryAfter or up to a fifth more, never less.
func jittered(interval, retryAfter time.Duration) time.Duration {
	if retryAfter > interval {
		return retryAfter + time.Duration(rand.Float64()*float64(retryAfter)/5)
	}
	return max(retryAfter, jitter(interval))
}
