package channel

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A provider that asks for less is not hammered, and one that asks for more
// does not take a delivery out of sight.
const (
	minRetryAfter = time.Second
	maxRetryAfter = 15 * time.Minute
)

// RetryAfter reads a Retry-After header: seconds, or an HTTP date, which is
// compared with now. It returns 1 s to 15 min, or 0 where the provider asks
// for nothing that can be understood.
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

// ClampRetry brings a wait that a provider asks for into 1 s to 15 min.
func ClampRetry(wait time.Duration) time.Duration {
	return min(max(wait, minRetryAfter), maxRetryAfter)
}
