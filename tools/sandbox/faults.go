package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"herald/internal/notification"
)

const faultLimit = 64 << 10 // bytes of a request that sets a fault

// channels are the channels that the sandbox serves: a websocket has no provider.
var channels = []notification.Channel{notification.Email, notification.Push, notification.SMS, notification.Slack}

// parseChannel reads a channel in upper or lower case.
func parseChannel(name string) (notification.Channel, error) {
	channel := notification.Channel(strings.ToUpper(name))
	if !slices.Contains(channels, channel) {
		return "", fmt.Errorf("channel must be one of %v", channels)
	}
	return channel, nil
}

// faults holds the fault of each channel that has one.
type faults struct {
	mu        sync.Mutex
	byChannel map[notification.Channel]Fault
}

// hit returns the fault that the next request on a channel meets, if it meets one.
func (f *faults) hit(channel notification.Channel) (Fault, bool) {
	fault, ok := f.all()[channel]
	return fault, ok && fault.hits()
}

// all returns a copy.
func (f *faults) all() map[notification.Channel]Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.byChannel)
}

func (f *faults) list(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, f.all()) }

// set replaces the channel's fault and responds with the new one.
func (f *faults) set(w http.ResponseWriter, r *http.Request) {
	channel, err := parseChannel(r.PathValue("channel"))
	if err != nil {
		writeError(w, http.StatusNotFound, err)
		return
	}
	fault, err := parseFault(http.MaxBytesReader(w, r.Body, faultLimit))
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byChannel[channel] = fault
	writeJSON(w, http.StatusOK, fault)
}

func (f *faults) clear(w http.ResponseWriter, r *http.Request) {
	channel, err := parseChannel(r.PathValue("channel"))
	if err != nil {
		writeError(w, http.StatusNotFound, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byChannel, channel)
	w.WriteHeader(http.StatusNoContent)
}

func (f *faults) clearAll(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.byChannel)
	w.WriteHeader(http.StatusNoContent)
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

const (
	maxLatency    = 5 * time.Minute
	maxRetryAfter = 24 * time.Hour
)

// The ways to drop a connection.
const (
	dropBefore = "before" // the message is not processed
	dropAfter  = "after"  // the message counts as sent, but the client is not told
)

// Fault is the misbehaviour of a channel: first it waits, then it drops the connection or
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
