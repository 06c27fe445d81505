package limit

import (
	"math/rand/v2"
	"time"
)

// firstBackOff and longestBackOff limit a [BackOff].
const firstBackOff, longestBackOff = 200 * time.Millisecond, 15 * time.Second

// BackOff spaces the repeats of a loop while a server is out of reach. The zero value has no failures.
type BackOff struct{ next time.Duration }

// Failed returns the time to wait after a failure: 200 ms, then twice as long each time, up to 15 s.
func (b *BackOff) Failed() time.Duration {
	wait := max(b.next, firstBackOff)
	b.next = min(2*wait, longestBackOff)
	return Jitter(wait)
}

// Worked begins again at the shortest time.
func (b *BackOff) Worked() { b.next = 0 }

// Jitter makes d up to 20 % shorter or longer, so that many waiters do not act at the same time.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
