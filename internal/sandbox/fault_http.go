package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"herald/internal/notification"
)

const faultLimit = 64 << 10 // bytes of a fault

// channels are those that the sandbox serves: a websocket has no provider.
func channels() []notification.Channel {
	return []notification.Channel{notification.Email, notification.Push, notification.SMS, notification.Slack}
}

// channelOf reads a channel in any case of letters.
func channelOf(name string) (notification.Channel, error) {
	channel := notification.Channel(strings.ToUpper(name))
	if !slices.Contains(channels(), channel) {
		return "", fmt.Errorf("channel must be one of %v", channels())
	}
	return channel, nil
}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.faults.all())
}

// setFault replaces the channel's fault, and answers with the new one.
func (s *Server) setFault(w http.ResponseWriter, r *http.Request) {
	channel, err := channelOf(r.PathValue("channel"))
	if err != nil {
		complain(w, http.StatusNotFound, err)
		return
	}
	fault, err := parseFault(http.MaxBytesReader(w, r.Body, faultLimit))
	if err != nil {
		complain(w, http.StatusBadRequest, err)
		return
	}
	s.faults.set(channel, fault)
	writeJSON(w, http.StatusOK, fault)
}

func (s *Server) clearFault(w http.ResponseWriter, r *http.Request) {
	channel, err := channelOf(r.PathValue("channel"))
	if err != nil {
		complain(w, http.StatusNotFound, err)
		return
	}
	s.faults.clear(channel)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.faults.clear(channels()...)
	w.WriteHeader(http.StatusNoContent)
}

func complain(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that is gone needs no answer
}
