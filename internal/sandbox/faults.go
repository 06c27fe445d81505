package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"herald/internal/notification"
)

const faultLimit = 64 << 10 // bytes of a request that sets a fault

// channels are those that the sandbox serves: a websocket has no provider.
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
