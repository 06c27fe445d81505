package receipts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"herald/internal/problem"
)

const (
	// bodyLimit is the longest body that a request may have, in bytes. SendGrid's have 768 KB
	// at most.
	bodyLimit = 1 << 20
	// memoryLimit bounds what all requests hold at once of their bodies, in bytes. Anybody may
	// send one, and its signature is known only when all of it is there.
	memoryLimit = 64 << 20
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
		held := &heldBody{from: http.MaxBytesReader(to, r.Body, bodyLimit), all: &w.held}
		defer held.release()
		body, err := io.ReadAll(held)
		if err != nil {
			w.refuse(to, unreadable(err))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		if err := do(ctx, r, body); err != nil {
			w.refuse(to, refusalFor(err))
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
	full       = "full"
	away       = "database"
)

// refusal is a request that is not taken.
type refusal struct {
	status int
	cause  string
	detail string
	err    error // for the log; nil: the cause says it all
}

func (e *refusal) Error() string { return e.detail }

// forbidden refuses what no provider has signed. It does not say why: a forger would learn
// from it.
func forbidden(cause string) error {
	return &refusal{
		status: http.StatusForbidden, cause: cause,
		detail: "the request is not one that a provider has signed for this gateway: herald_receipts_refused_total says what is wrong",
	}
}

func unreadable(err error) *refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &refusal{status: http.StatusRequestEntityTooLarge, cause: tooLarge, detail: "a body has at most 1 MiB"}
	case errors.Is(err, errFull):
		return &refusal{status: http.StatusServiceUnavailable, cause: full, detail: "too much is sent at once: send it again"}
	}
	return &refusal{status: http.StatusBadRequest, cause: incomplete, detail: "not all of the body came"}
}

// refusalFor says what an error of a hook means to the provider. One that is no refusal is
// the database's.
func refusalFor(err error) *refusal {
	var known *refusal
	if errors.As(err, &known) {
		return known
	}
	return &refusal{status: http.StatusServiceUnavailable, cause: away, detail: "it cannot be stored now: send it again", err: err}
}

func (w *Webhooks) refuse(to http.ResponseWriter, why *refusal) {
	w.metrics.refuse(why.cause, why.err)
	if why.status == http.StatusServiceUnavailable {
		to.Header().Set("Retry-After", "1")
	}
	problem.Write(to, why.status, why.detail)
}

func noContent(to http.ResponseWriter, _ *http.Request) { to.WriteHeader(http.StatusNoContent) }

func noSuchPath(to http.ResponseWriter, _ *http.Request) {
	problem.Write(to, http.StatusNotFound, "there is no such path: see /openapi.json")
}

var errFull = errors.New("requests hold too much already")

// heldBody is a body as it is read, whose bytes count together with those of all others.
type heldBody struct {
	from io.Reader
	all  *atomic.Int64
	own  int64
}

// Read implements [io.Reader].
func (b *heldBody) Read(into []byte) (int, error) {
	n, err := b.from.Read(into)
	b.own += int64(n)
	if b.all.Add(int64(n)) > memoryLimit {
		return n, errFull
	}
	return n, err
}

// release counts the body no more.
func (b *heldBody) release() { b.all.Add(-b.own) }
