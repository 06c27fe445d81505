// Package problem writes errors of the gateway's HTTP API in the format of RFC 9457.
package problem

import (
	"encoding/json"
	"net/http"
)

// ContentType is the content type of every error.
const ContentType = "application/problem+json"

// Problem is one error. Clients distinguish errors by Status; the texts are for people.
type Problem struct {
	Type     string   `json:"type"`               // about:blank, because Status identifies the error
	Title    string   `json:"title"`              // the name of Status
	Status   int      `json:"status"`             // the HTTP status
	Detail   string   `json:"detail,omitempty"`   // what is wrong, and what to do; without secrets
	Problems []string `json:"problems,omitempty"` // all mistakes, if there may be several
}

// New returns the problem of a status.
func New(status int, detail string, problems ...string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Problems: problems}
}

// Write answers with a problem.
func Write(w http.ResponseWriter, status int, detail string, problems ...string) {
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(New(status, detail, problems...)) // it fails only if the client has disconnected
}
