package signin

import (
	"errors"
	"net/http"

	"herald/internal/web/problem"
)

// Reason is why somebody is not let in. Operators see it in a metric and in the log.
// The sender does not, since it would help to guess.
type Reason string

// The reasons.
const (
	NoToken      Reason = "none"
	Malformed    Reason = "malformed" // also: no claims that name a recipient
	BadAlgorithm Reason = "algorithm" // not one that the settings fix
	UnknownKey   Reason = "key"
	BadSignature Reason = "signature"
	Expired      Reason = "expired"
	NotYet       Reason = "not_yet" // `nbf` lies ahead
	BadIssuer    Reason = "issuer"
	BadAudience  Reason = "audience"
	NoRecipient  Reason = "recipient" // unknown, or not active
	BadTicket    Reason = "ticket"    // unknown, used or expired
	TooMany      Reason = "too_many"  // requests of one recipient
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{NoToken, Malformed, BadAlgorithm, UnknownKey, BadSignature, Expired, NotYet, BadIssuer, BadAudience, NoRecipient, BadTicket, TooMany}
}

// Refusal is the error of a request that says of nobody who sends it. It holds nothing that
// came with the request.
type Refusal struct {
	Reason Reason
}

func (r *Refusal) Error() string { return "not signed in: " + string(r.Reason) }

// Refuse answers a request that is not let in: 401 where it is not known who sends it, 429
// where the sender asks too much, and 503 where the database does not answer.
func Refuse(w http.ResponseWriter, err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		w.Header().Set("Retry-After", "2")
		problem.Write(w, http.StatusServiceUnavailable, "who you are cannot be looked up now; try again")
		return
	}
	if refusal.Reason == TooMany {
		w.Header().Set("Retry-After", "1")
		problem.Write(w, http.StatusTooManyRequests, "you ask too much at once; try again")
		return
	}
	challenge := "Bearer" // RFC 6750: without an error where nothing was presented
	if refusal.Reason != NoToken {
		challenge = `Bearer error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	problem.Write(w, http.StatusUnauthorized, "sign in with a token that is valid now")
}
