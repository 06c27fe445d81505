package receipts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"herald/internal/channel"
	"herald/internal/web/problem"
)

const (
	// budget limits the bytes of all bodies in one endpoint. Anybody can send a request, and
	// Herald can check its signature only after reading the whole body.
	budget = 64 << 20
	// bodyTimeout limits the time to read a body.
	bodyTimeout = 5 * time.Second
	// timeout limits the wait for the database.
	timeout = 10 * time.Second
)

// endpoint is one path for one provider. Endpoints have separate budgets, so unfinished bodies at
// one endpoint do not block another.
type endpoint struct {
	*Webhooks
	channel.Receiver
	held atomic.Int64 // bytes of the bodies being read or processed
}

// ServeHTTP implements [http.Handler]. A provider sends a request again if the status is 300
// or more.
func (e *endpoint) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		to.Header().Set("Allow", http.MethodPost)
		problem.Write(to, http.StatusMethodNotAllowed, "this path takes POST")
		return
	}
	if err := e.Admit(r.Header); err != nil {
		to.Header().Set("Connection", "close") // else the server reads the body before it answers
		e.refuse(to, refusalFor(err))
		return
	}
	held := &heldBody{from: http.MaxBytesReader(to, r.Body, e.BodyLimit), all: &e.held}
	defer held.release()
	body, err := e.readBody(to, held)
	if err != nil {
		to.Header().Set("Connection", "close")
		e.refuse(to, e.unreadable(err))
		return
	}
	received, err := e.Read(r, body)
	if err == nil {
		err = e.store(r.Context(), received)
	}
	if err != nil {
		e.refuse(to, refusalFor(err))
		return
	}
	to.Header().Set("Cache-Control", "no-store")
	if e.Reply == nil {
		to.WriteHeader(http.StatusNoContent)
		return
	}
	e.Reply(to, r)
}

func (e *endpoint) store(ctx context.Context, received channel.Received) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return e.record(ctx, e.Receiver, received)
}

// readBody reads the whole body within [bodyTimeout].
func (e *endpoint) readBody(to http.ResponseWriter, held *heldBody) ([]byte, error) {
	connection := http.NewResponseController(to)
	if err := connection.SetReadDeadline(time.Now().Add(e.bodyTimeout)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(held)
	if err != nil {
		return nil, err
	}
	return body, connection.SetReadDeadline(time.Time{}) // a passed deadline would cancel the request
}

// Causes of refused requests, in addition to the values of [channel.Distrust].
const (
	tooLarge   = "too_large"
	incomplete = "incomplete"
	full       = "full"
	away       = "database"
)

// refusal is the answer to a refused request.
type refusal struct {
	status int
	cause  string
	detail string
	err    error // for the log; nil if the cause is enough
}

func (e *endpoint) unreadable(err error) *refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &refusal{
			status: http.StatusRequestEntityTooLarge, cause: tooLarge, detail: fmt.Sprintf("a body has at most %d KiB", e.BodyLimit>>10),
		}
	case errors.Is(err, errFull):
		return &refusal{status: http.StatusServiceUnavailable, cause: full, detail: "too many bytes are in flight: send it again"}
	}
	return &refusal{status: http.StatusBadRequest, cause: incomplete, detail: "the body was incomplete after 5 seconds"}
}

// refusalFor returns the refusal in an error. The answer to a request that no provider has signed
// does not say why, because a forger could learn from it. Any other error is the database's.
func refusalFor(err error) *refusal {
	if distrust, ok := errors.AsType[channel.Distrust](err); ok {
		return &refusal{
			status: http.StatusForbidden, cause: string(distrust),
			detail: "the request has no valid signature of a provider: herald_receipts_refused_total has the reason",
		}
	}
	return &refusal{status: http.StatusServiceUnavailable, cause: away, detail: "the receipt cannot be stored now: send it again", err: err}
}

func (w *Webhooks) refuse(to http.ResponseWriter, why *refusal) {
	w.metrics.refuse(why.cause, why.err)
	if why.status == http.StatusServiceUnavailable {
		to.Header().Set("Retry-After", "1")
	}
	problem.Write(to, why.status, why.detail)
}

func noSuchPath(to http.ResponseWriter, _ *http.Request) {
	problem.Write(to, http.StatusNotFound, "there is no such path: see /openapi.json")
}

var errFull = errors.New("requests in flight hold too many bytes")

// heldBody is a body whose bytes count in its endpoint's budget.
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

// release subtracts the body's bytes from the budget's use.
func (b *heldBody) release() { b.all.Add(-b.own) }
