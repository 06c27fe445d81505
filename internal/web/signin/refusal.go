package signin

import (
	"errors"
	"net/http"

	"herald/internal/web/problem"
)

// Reason is the reason of a refusal. Operators see it in a metric and in the log. The sender does
// not see it, because it would help an attacker.
type Reason string

// Reasons of refusals.
const (
	NoToken      Reason = "none"
	Malformed    Reason = "malformed" // also for claims that name no recipient
	BadAlgorithm Reason = "algorithm" // the settings do not permit the algorithm
	UnknownKey   Reason = "key"
	BadSignature Reason = "signature"
	Expired      Reason = "expired"
	NotYet       Reason = "not_yet" // `nbf` is in the future
	BadIssuer    Reason = "issuer"
	BadAudience  Reason = "audience"
	NoRecipient  Reason = "recipient" // unknown or not active
	BadTicket    Reason = "ticket"    // unknown, used or expired
	TooMany      Reason = "too_many"  // too many requests of one recipient
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		NoToken, Malformed, BadAlgorithm, UnknownKey, BadSignature, Expired, NotYet, BadIssuer, BadAudience, NoRecipient, BadTicket, TooMany,
	}
}

// Refusal is the error of a request that is not admitted. It contains no data from the request.
type Refusal struct {
	Reason Reason
}

func (r *Refusal) Error() string { return "not signed in: " + string(r.Reason) }

// Refuse answers a request that is not admitted: with 401 if the sender is not identified, with 429
// after too many requests, and with 503 if the database does not answer.
func Refuse(w http.ResponseWriter, err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		w.Header().Set("Retry-After", "2")
		problem.Write(w, http.StatusServiceUnavailable, "you cannot be signed in now; try again")
		return
	}
	if refusal.Reason == TooMany {
		w.Header().Set("Retry-After", "1")
		problem.Write(w, http.StatusTooManyRequests, "you send too many requests; try again")
		return
	}
	challenge := "Bearer" // RFC 6750: no error attribute if the request had no token
	if refusal.Reason != NoToken {
		challenge = `Bearer error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	problem.Write(w, http.StatusUnauthorized, "sign in with a token that is valid now")
}
