package activities

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// MaxRetryInterval caps the intervals between attempts that grow; a provider's own
// Retry-After is clamped to the same.
const MaxRetryInterval = 15 * time.Minute

const (
	// accountRetry is the interval after a provider rejected our account. Somebody
	// has to mend the credentials; hurrying only gets an account locked.
	accountRetry = time.Minute
	// accountPatience is how long a delivery waits for that, from the first time on.
	accountPatience = 24 * time.Hour
)

// pace is how the attempts at a message follow each other.
type pace struct {
	Channel     notification.Channel
	MaxAttempts int
	FirstRetry  time.Duration // 0: a workflow of a release that left intervals to Temporal
	Coefficient float64
}

// failure is the failure of an attempt, made permanent where no other follows.
// Our account's trouble uses up no attempts: it is tried once a minute, for a day.
// A best-effort channel gets its one attempt, whatever happens.
func (p pace) failure(tried notification.Tried, err error) error {
	var provider *notification.ProviderError
	if !errors.As(err, &provider) {
		return failure(err)
	}
	ours := provider.Class == notification.Account && !p.Channel.BestEffort()
	switch {
	case provider.Class == notification.Refused:
		return permanent(provider, string(notification.Refused))
	case ours && tried.Rejected >= accountPatience:
		return permanent(provider, AttemptsExhausted)
	case ours:
		return later(provider, jittered(accountRetry, provider.RetryAfter))
	case tried.Ended+1 >= p.MaxAttempts:
		return permanent(provider, AttemptsExhausted)
	default:
		return later(provider, p.interval(tried.Ended, provider.RetryAfter))
	}
}

// interval is the time until the next attempt, after ended ones and this one.
func (p pace) interval(ended int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return jittered(0, retryAfter)
	}
	grown := float64(p.FirstRetry) * math.Pow(max(p.Coefficient, 1), float64(ended))
	return jittered(time.Duration(min(grown, float64(max(MaxRetryInterval, p.FirstRetry)))), 0)
}

// jittered is an interval give or take a fifth, so that what failed together does
// not come back together; or as much as a fifth more than what the provider asked
// for, if that is longer: never less.
func jittered(interval, retryAfter time.Duration) time.Duration {
	if retryAfter > interval {
		return retryAfter + time.Duration(rand.Float64()*float64(retryAfter)/5)
	}
	return max(retryAfter, jitter(interval))
}

// rejections says that a provider rejects our account: once a minute and channel,
// not once for each delivery that waits for it to be mended.
type rejections struct {
	mu   sync.Mutex
	said map[notification.Channel]time.Time
}

func (r *rejections) report(ctx context.Context, channel notification.Channel, result notification.AttemptResult) {
	if result.Outcome != notification.OutcomeAccount || !r.due(channel, time.Now()) {
		return
	}
	activity.GetLogger(ctx).Error("a provider rejects our account: its deliveries wait, each is tried once a minute, and fails after 24 hours", "channel", channel, "answer", result.Detail)
}

func (r *rejections) due(channel notification.Channel, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if said, ok := r.said[channel]; ok && now.Sub(said) < accountRetry {
		return false
	}
	if r.said == nil {
		r.said = map[notification.Channel]time.Time{}
	}
	r.said[channel] = now
	return true
}
