package channel

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	bodyLimit  = 64 << 10  // bytes of an answer that are read; providers' answers are far smaller
	drainLimit = 256 << 10 // bytes beyond them that are thrown away to keep the connection
)

var (
	errSecondAttempt = errors.New("an exchange is one attempt")
	errBodyTooLarge  = errors.New("the answer is too large")
)

// An Exchange is one request to a provider and its answer. It is the transport
// below a provider's SDK: it reads the answer within bounds and keeps it, whatever
// the SDK does with it, and it refuses to send a second time if the SDK tries. Use
// a new one for each message.
type Exchange struct {
	Status int         // of the answer; 0: there was none
	Header http.Header // of the answer
	Body   []byte      // at most 64 KiB of it

	Took time.Duration // until the end of the answer, or of the wait for it; 0: nothing was sent

	wire    http.RoundTripper
	started bool
	err     error // that cut the exchange short
}

// NewExchange returns an exchange over wire.
func NewExchange(wire http.RoundTripper) *Exchange { return &Exchange{wire: wire} }

// Client returns an http.Client for this exchange alone. It follows no
// redirect. It has no timeout: the context of the request bounds it.
func (e *Exchange) Client() *http.Client {
	return &http.Client{
		Transport:     e,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements http.RoundTripper. The body of the response is in memory,
// so the SDK need not drain it.
func (e *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if e.started {
		return nil, errSecondAttempt
	}
	e.started = true
	began := time.Now()
	defer func() { e.Took = time.Since(began) }()

	resp, err := e.wire.RoundTrip(req)
	if err != nil {
		e.err = err
		return nil, err
	}
	e.Status, e.Header = resp.StatusCode, resp.Header
	if e.Body, e.err = readAll(resp.Body); e.err != nil {
		return nil, e.err
	}
	resp.Body = io.NopCloser(bytes.NewReader(e.Body))
	return resp, nil
}

// readAll reads body up to the limit and closes it. A longer body is an error; a
// part of the rest is drained, since that is cheaper than a new connection.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer func() { _ = body.Close() }() // what was read is kept
	read, err := io.ReadAll(io.LimitReader(body, bodyLimit))
	if err != nil {
		return read, err
	}
	beyond, err := io.CopyN(io.Discard, body, drainLimit)
	if beyond > 0 {
		return read, errBodyTooLarge
	}
	if errors.Is(err, io.EOF) {
		return read, nil
	}
	return read, err
}
