package channel

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The limits of a wait that a provider asks for. A shorter wait would overload the provider. A
// longer wait would hide the delivery from operators.
const (
	minRetryAfter = time.Second
	maxRetryAfter = 15 * time.Minute
)

// RetryAfter reads a Retry-After header: seconds, or an HTTP date, relative to now. It returns 1
// s to 15 min, or 0 if it cannot read the header.
func RetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	seconds, err := strconv.ParseUint(header, 10, 32)
	switch {
	case err == nil:
		return ClampRetry(time.Duration(seconds) * time.Second)
	case errors.Is(err, strconv.ErrRange):
		return maxRetryAfter
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return ClampRetry(date.Sub(now))
}

// ClampRetry limits a provider's wait to 1 s to 15 min.
func ClampRetry(wait time.Duration) time.Duration {
	return min(max(wait, minRetryAfter), maxRetryAfter)
}
