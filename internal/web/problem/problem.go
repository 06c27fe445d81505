// Package problem writes errors of the gateway's HTTP API, as RFC 9457 has them.
package problem

import (
	"encoding/json"
	"net/http"
)

// ContentType is the content type of every error.
const ContentType = "application/problem+json"

// Problem is one error. A client knows its kind by Status; the texts are for people.
type Problem struct {
	Type     string   `json:"type"`               // about:blank: Status says it all
	Title    string   `json:"title"`              // the name of Status
	Status   int      `json:"status"`             // of HTTP
	Detail   string   `json:"detail,omitempty"`   // what is wrong, and what to do; it quotes nothing that is secret
	Problems []string `json:"problems,omitempty"` // everything that is wrong, where several things may be
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
	_ = json.NewEncoder(w).Encode(New(status, detail, problems...)) // a client that has gone needs no answer
}
