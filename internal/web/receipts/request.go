package receipts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"herald/internal/web/problem"
)

const (
	// sendgridBody is the longest body of SendGrid's, in bytes. SendGrid sends 768 KB at most.
	sendgridBody = 1 << 20
	// twilioBody is the longest body of Twilio's, in bytes. Twilio sends a few KB.
	twilioBody = 64 << 10
	// budget bounds the bytes that the requests of one endpoint hold. Anybody may send a
	// request, and Herald checks its signature once it has the whole body.
	budget = 64 << 20
	// bodyTimeout bounds the wait for a body.
	bodyTimeout = 5 * time.Second
	// timeout bounds the wait for the database.
	timeout = 10 * time.Second
)

// endpoint is one path, of one provider. Endpoints share nothing, so bodies that one of them
// waits for do not keep out the requests of another.
type endpoint struct {
	*Webhooks
	bodyLimit int64
	// admit refuses a request by its header, before Herald reads the body.
	admit func(http.Header) error
	// do does what a request asks, or returns why not: a *refusal, or the database's error.
	do     func(ctx context.Context, r *http.Request, body []byte) error
	answer http.HandlerFunc
	held   atomic.Int64 // bytes of bodies
}

// ServeHTTP implements [http.Handler]. A provider sends a request again if the status is 300
// or more.
func (e *endpoint) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		to.Header().Set("Allow", http.MethodPost)
		problem.Write(to, http.StatusMethodNotAllowed, "this path takes POST")
		return
	}
	if err := e.admit(r.Header); err != nil {
		to.Header().Set("Connection", "close") // otherwise the server waits for the body before it answers
		e.refuse(to, refusalFor(err))
		return
	}
	held := &heldBody{from: http.MaxBytesReader(to, r.Body, e.bodyLimit), all: &e.held}
	defer held.release()
	body, err := e.read(to, held)
	if err != nil {
		to.Header().Set("Connection", "close")
		e.refuse(to, e.unreadable(err))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if err := e.do(ctx, r, body); err != nil {
		e.refuse(to, refusalFor(err))
		return
	}
	to.Header().Set("Cache-Control", "no-store")
	e.answer(to, r)
}

// read reads the whole body within [bodyTimeout].
func (e *endpoint) read(to http.ResponseWriter, held *heldBody) ([]byte, error) {
	connection := http.NewResponseController(to)
	if err := connection.SetReadDeadline(time.Now().Add(e.bodyTimeout)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(held)
	if err != nil {
		return nil, err
	}
	return body, connection.SetReadDeadline(time.Time{}) // a deadline that passes cancels the request
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

// forbidden refuses a request that no provider has signed. The answer does not say why, since
// a forger would learn from it.
func forbidden(cause string) error {
	return &refusal{
		status: http.StatusForbidden, cause: cause,
		detail: "the request is not one that a provider has signed for this gateway: herald_receipts_refused_total says what is wrong",
	}
}

func (e *endpoint) unreadable(err error) *refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		detail := "a body has at most 1 MiB"
		if e.bodyLimit == twilioBody {
			detail = "a body has at most 64 KiB"
		}
		return &refusal{status: http.StatusRequestEntityTooLarge, cause: tooLarge, detail: detail}
	case errors.Is(err, errFull):
		return &refusal{status: http.StatusServiceUnavailable, cause: full, detail: "too much is sent at once: send it again"}
	}
	return &refusal{status: http.StatusBadRequest, cause: incomplete, detail: "not all of the body came within 5 seconds"}
}

// refusalFor returns the refusal in an error. Any other error is the database's.
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

// heldBody is a body whose bytes count together with the bytes of an endpoint's other bodies.
type heldBody struct {
	from io.Reader
	all  *atomic.Int64
	own  int64
}

// Read implements [io.Reader].
func (b *heldBody) Read(into []byte) (int, error) {
	n, err := b.from.Read(into)
	b.own += int64(n)
	if b.all.Add(int64(n)) > budget {
		return n, errFull
	}
	return n, err
}

// release takes the body out of the count.
func (b *heldBody) release() { b.all.Add(-b.own) }
