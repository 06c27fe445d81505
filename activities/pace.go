package activities

import (
	"math"
	"math/rand/v2"
	"time"
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

// interval is the time until the next attempt, after ended ones and this one.
func (p AttemptPolicy) interval(ended int, retryAfter time.Duration) time.Duration {
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
