package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	maxLatency    = 5 * time.Minute
	maxRetryAfter = 24 * time.Hour
)

// The ways to drop a connection.
const (
	dropBefore = "before" // the message is not processed
	dropAfter  = "after"  // the message counts as sent, but the client is not told
)

// Fault is what a channel does wrong: first it waits, then it drops the connection or
// responds with the status.
type Fault struct {
	Status     int      `json:"status,omitempty"`      // 300 to 599; 0: the provider's own
	Rate       *float64 `json:"rate,omitempty"`        // share of the requests that meet the fault, 0 to 1; nil: all
	RetryAfter Duration `json:"retry_after,omitempty"` // sent with the status, in whole seconds
	Latency    Duration `json:"latency,omitempty"`     // ends early with the request
	Drop       string   `json:"drop,omitempty"`        // before or after; empty: none
}

// parseFault reads the fault in a request. Its error is for the client.
func parseFault(r io.Reader) (Fault, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var fault Fault
	if err := decoder.Decode(&fault); err != nil {
		return Fault{}, fmt.Errorf("not a fault: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Fault{}, errors.New("not a fault: something follows it")
	}
	return fault, fault.validate()
}

func (f Fault) validate() error {
	switch {
	case f.Status != 0 && (f.Status < 300 || f.Status > 599):
		return errors.New("status must be from 300 to 599")
	case f.Rate != nil && (*f.Rate < 0 || *f.Rate > 1):
		return errors.New("rate must be from 0 to 1")
	case f.RetryAfter < 0 || time.Duration(f.RetryAfter) > maxRetryAfter:
		return fmt.Errorf("retry_after must be from 0s to %s", maxRetryAfter)
	case f.Latency < 0 || time.Duration(f.Latency) > maxLatency:
		return fmt.Errorf("latency must be from 0s to %s", maxLatency)
	case f.Drop != "" && f.Drop != dropBefore && f.Drop != dropAfter:
		return errors.New(`drop must be "before" or "after"`)
	case f.RetryAfter != 0 && f.Status == 0:
		return errors.New("retry_after needs a status to be sent with")
	case f.Status == 0 && f.Latency == 0 && f.Drop == "":
		return errors.New("the fault does nothing: give it a status, a latency or a drop")
	default:
		return nil
	}
}

// String returns the fault in JSON, as it is set.
func (f Fault) String() string {
	text, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// hits decides at random whether the next request meets the fault.
func (f Fault) hits() bool { return f.Rate == nil || rand.Float64() < *f.Rate }

// withRetryAfter adds the header, in whole seconds, rounded up so that no client comes too early.
func (f Fault) withRetryAfter(resp response) response {
	if f.RetryAfter != 0 {
		resp.header["Retry-After"] = strconv.Itoa(int(math.Ceil(time.Duration(f.RetryAfter).Seconds())))
	}
	return resp
}

// Duration is a time.Duration that is "2s" in JSON.
type Duration time.Duration

// MarshalText returns d as 1m30s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
