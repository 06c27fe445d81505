package channel

import (
	"net/http"
	"strconv"
	"time"

	"herald/internal/notification"
)

// Receiver takes a provider's requests at one path of the gateway. The gateway limits the bodies,
// and records and counts what Read returns.
type Receiver struct {
	Channel  notification.Channel // set by package wiring
	Provider string               // likewise

	Path      string // such as /webhooks/twilio
	BodyLimit int64  // in bytes
	// Admit refuses a request by its headers, before the gateway reads the body. Its error is a
	// [Distrust].
	Admit func(header http.Header) error
	// Read verifies the signature, and reads what the request says. Its error is a [Distrust].
	Read func(r *http.Request, body []byte) (Received, error)
	// Reply answers a recorded request; nil: status 204.
	Reply http.HandlerFunc
}

// Distrust is the reason why a request is refused, and a label of metrics.
type Distrust string

// The reasons.
const (
	NoKey    Distrust = "no_key" // the settings that verify signatures are not set
	Unsigned Distrust = "unsigned"
	Forged   Distrust = "forged"
	Stale    Distrust = "stale"
)

// Error implements error.
func (d Distrust) Error() string { return string(d) }

// freshness is the maximum age of a signature. It limits replays of recorded requests, but allows
// SendGrid's repeats, which continue for 24 hours.
const freshness = 25 * time.Hour

// CheckAge refuses the time of a signature, in seconds since 1970, if it is too old or not a number.
func CheckAge(timestamp string) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)) > freshness {
		return Stale
	}
	return nil
}
