package receipts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"herald/internal/problem"
)

const (
	// bodyLimit is the longest body that a request may have, in bytes. SendGrid's have 768 KB
	// at most.
	bodyLimit = 1 << 20
	// timeout bounds the wait for the database.
	timeout = 10 * time.Second
)

// hook does what a request asks, or returns why not: a *refusal, or the database's error.
type hook func(ctx context.Context, r *http.Request, body []byte) error

// post reads the body of a request, lets do have it, and answers. Whatever is answered with
// a status of 300 or more, the provider sends again.
func (w *Webhooks) post(do hook, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			to.Header().Set("Allow", http.MethodPost)
			problem.Write(to, http.StatusMethodNotAllowed, "this path takes POST")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(to, r.Body, bodyLimit))
		if err != nil {
			w.refuse(to, unreadable(err))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		if err := do(ctx, r, body); err != nil {
			w.refuse(to, w.refusalFor(ctx, err))
			return
		}
		to.Header().Set("Cache-Control", "no-store")
		answer(to, r)
	})
}

// The causes for which a request is refused.
const (
	unsigned   = "unsigned"
	forged     = "forged"
	stale      = "stale"
	noKey      = "no_key"
	tooLarge   = "too_large"
	incomplete = "incomplete"
	away       = "database"
)

// refusal is a request that is not taken.
type refusal struct {
	status int
	cause  string
	detail string
}

func (e *refusal) Error() string { return e.detail }

// forbidden refuses what no provider has signed. It does not say why: a forger would learn
// from it.
func forbidden(cause string) error {
	return &refusal{http.StatusForbidden, cause, "the request is not one that a provider has signed for this gateway: herald_receipts_refused_total says what is wrong"}
}

func unreadable(err error) *refusal {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &refusal{http.StatusRequestEntityTooLarge, tooLarge, "a body has at most 1 MiB"}
	}
	return &refusal{http.StatusBadRequest, incomplete, "not all of the body came"}
}

// refusalFor says what an error of a hook means to the provider. One that is no refusal is
// the database's.
func (w *Webhooks) refusalFor(ctx context.Context, err error) *refusal {
	var known *refusal
	if errors.As(err, &known) {
		return known
	}
	w.Logger.ErrorContext(ctx, "what a provider said is not stored; it says it again", "error", err)
	return &refusal{http.StatusServiceUnavailable, away, "it cannot be stored now: send it again"}
}

func (w *Webhooks) refuse(to http.ResponseWriter, why *refusal) {
	w.metrics.refuse(why.cause)
	if why.status == http.StatusServiceUnavailable {
		to.Header().Set("Retry-After", "1")
	}
	problem.Write(to, why.status, why.detail)
}

func noContent(to http.ResponseWriter, _ *http.Request) { to.WriteHeader(http.StatusNoContent) }

func noSuchPath(to http.ResponseWriter, _ *http.Request) {
	problem.Write(to, http.StatusNotFound, "there is no such path: see /openapi.json")
}
