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

// channels are the channels that the sandbox serves. A websocket has no provider.
var channels = slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return c == notification.WebSocket })

// faultNames returns the names in PUT /faults.
func faultNames() (names []notification.Channel) {
	for _, p := range providers {
		names = append(names, p.fault)
	}
	return names
}

// faults holds the fault of each channel that has one.
type faults struct {
	mu        sync.Mutex
	byChannel map[notification.Channel]Fault
}

// hit returns the fault for the next request on a channel, if the request gets one.
func (f *faults) hit(channel notification.Channel) (Fault, bool) {
	fault, ok := f.all()[channel]
	return fault, ok && hits(fault.Rate)
}

// all returns a copy of the faults by channel.
func (f *faults) all() map[notification.Channel]Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.byChannel)
}

func (f *faults) change(do func(byChannel map[notification.Channel]Fault)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.byChannel)
}

func (f *faults) list(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, f.all()) }

// of returns a handler of requests about one channel, whose name may be in lower case.
func (f *faults) of(handle func(w http.ResponseWriter, r *http.Request, channel notification.Channel)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		channel := notification.Channel(strings.ToUpper(r.PathValue("channel")))
		if names := faultNames(); !slices.Contains(names, channel) {
			writeError(w, http.StatusNotFound, fmt.Errorf("channel must be one of %v", names))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, faultLimit)
		handle(w, r, channel)
	}
}

// read replaces a channel's fault, or answers with the reason why it is invalid.
func (f *faults) read(w http.ResponseWriter, body io.Reader, channel notification.Channel) (fault Fault, ok bool) {
	fault, err := parseFault(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return fault, false
	}
	f.change(func(byChannel map[notification.Channel]Fault) { byChannel[channel] = fault })
	return fault, true
}

// set replaces the channel's fault and responds with the new one.
func (f *faults) set(w http.ResponseWriter, r *http.Request, channel notification.Channel) {
	if fault, ok := f.read(w, r.Body, channel); ok {
		writeJSON(w, http.StatusOK, fault)
	}
}

// press takes the page's buttons: their value is a fault in JSON, or empty to end the fault. It
// returns to the page with the same filter and the buttons.
func (f *faults) press(w http.ResponseWriter, r *http.Request, channel notification.Channel) {
	if text := r.PostFormValue("fault"); text == "" {
		f.end(channel)
	} else if _, ok := f.read(w, strings.NewReader(text), channel); !ok {
		return
	}
	http.Redirect(w, r, "/?"+r.URL.RawQuery+"#channels", http.StatusSeeOther)
}

func (f *faults) end(channel notification.Channel) {
	f.change(func(byChannel map[notification.Channel]Fault) { delete(byChannel, channel) })
}

func (f *faults) clear(w http.ResponseWriter, _ *http.Request, channel notification.Channel) {
	f.end(channel)
	w.WriteHeader(http.StatusNoContent)
}

func (f *faults) clearAll(w http.ResponseWriter, _ *http.Request) {
	f.change(func(byChannel map[notification.Channel]Fault) { clear(byChannel) })
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

// Values of Fault.Drop: when the sandbox cuts the connection.
const (
	dropBefore = "before" // the message is not processed
	dropAfter  = "after"  // the message counts as sent, but the client gets no response
)

// Fault is the misbehaviour of a channel: the sandbox waits, then drops the connection, responds
// with the status, or loses the message.
type Fault struct {
	Status     int      `json:"status,omitempty"`      // 300 to 599; 0: the provider's normal status
	Rate       *float64 `json:"rate,omitempty"`        // share of the requests that get the fault, 0 to 1; nil: all
	RetryAfter Duration `json:"retry_after,omitempty"` // sent with the status, in whole seconds
	Latency    Duration `json:"latency,omitempty"`     // ends early if the client leaves
	Drop       string   `json:"drop,omitempty"`        // before or after; empty: none
	Lost       bool     `json:"lost,omitempty"`        // the response is the usual one, but the message does not count as sent
}

// parseFault reads a fault from the body of a request. The client sees the error.
func parseFault(r io.Reader) (fault Fault, err error) {
	if err := decode(r, "a fault", &fault); err != nil {
		return Fault{}, err
	}
	return fault, fault.validate()
}

// decode reads one JSON value without unknown fields. The error names the wanted value.
func decode(r io.Reader, wanted string, value any) error {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("not %s: %w", wanted, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("not %s: something follows", wanted)
	}
	return nil
}

func (f Fault) validate() error {
	switch {
	case f.Status != 0 && (f.Status < 300 || f.Status > 599):
		return errors.New("status must be from 300 to 599")
	case !isRate(f.Rate):
		return errRate
	case f.RetryAfter < 0 || time.Duration(f.RetryAfter) > maxRetryAfter:
		return fmt.Errorf("retry_after must be from 0s to %s", maxRetryAfter)
	case f.Latency < 0 || time.Duration(f.Latency) > maxLatency:
		return fmt.Errorf("latency must be from 0s to %s", maxLatency)
	case f.Drop != "" && f.Drop != dropBefore && f.Drop != dropAfter:
		return errors.New(`drop must be "before" or "after"`)
	case f.RetryAfter != 0 && f.Status == 0:
		return errors.New("retry_after needs a status: add one")
	case f.Lost && (f.Status != 0 || f.Drop != ""):
		return errors.New("lost needs the usual response: leave status and drop out")
	case f.Status == 0 && f.Latency == 0 && f.Drop == "" && !f.Lost:
		return errors.New("the fault does nothing: give it a status, a latency, a drop or lost")
	default:
		return nil
	}
}

// String returns the fault as JSON, in the form that PUT /faults takes.
func (f Fault) String() string {
	text, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var errRate = errors.New("rate must be from 0 to 1")

func isRate(rate *float64) bool { return rate == nil || *rate >= 0 && *rate <= 1 }

// hits decides at random whether a request or a receipt gets a fault. With a nil rate, each gets it.
func hits(rate *float64) bool { return rate == nil || rand.Float64() < *rate }

// withRetryAfter adds the header Retry-After in whole seconds, rounded up so that no client
// retries too early.
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

// UnmarshalText reads the format of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
