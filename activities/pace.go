package activities

import (
	"math"
	"math/rand/v2"
	"time"
)

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
