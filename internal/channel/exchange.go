package channel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"herald/internal/notification"
)

const (
	bodyLimit  = 64 << 10  // bytes read of an answer; real answers are far smaller
	drainLimit = 256 << 10 // further bytes dropped to keep the connection
)

var (
	errSecondAttempt = errors.New("an exchange sends only one request")
	errBodyTooLarge  = errors.New("the answer is too large")
)

// An Exchange is one request to a provider and its answer. It is the transport of a provider's
// SDK. It reads the answer within limits and keeps it for the sender. It refuses a second request of
// the SDK. Use a new Exchange for each message.
type Exchange struct {
	Status int         // of the answer; 0: no answer
	Header http.Header // of the answer
	Body   []byte      // at most 64 KiB of it

	Took time.Duration // until the end of the answer, or of the wait for it; 0: nothing was sent

	wire      http.RoundTripper
	started   bool
	connected bool
	err       error // why the exchange was interrupted
}

// NewExchange returns an exchange over wire.
func NewExchange(wire http.RoundTripper) *Exchange { return &Exchange{wire: wire} }

// Client returns an http.Client for this exchange only. It follows no redirects. It has no
// time-out: the request's context limits it.
func (e *Exchange) Client() *http.Client {
	return &http.Client{
		Transport:     e,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Post makes the exchange without an SDK. The error may quote the URL, so callers never show it.
func (e *Exchange) Post(ctx context.Context, url string, header http.Header, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header
	response, err := e.Client().Do(request)
	if err == nil {
		_ = response.Body.Close() // the body is in memory
	}
	return err
}

// Answer returns the facts of the exchange that every sender reports.
func (e *Exchange) Answer() notification.Answer {
	return notification.Answer{Status: e.Status, Took: e.Took}
}

// IsPlain reports whether the answer has the status and no page. The provider's answer has no body, so
// a page comes from a proxy.
func (e *Exchange) IsPlain(status int) bool {
	return e.Status == status && !bytes.HasPrefix(bytes.TrimSpace(e.Body), []byte("<"))
}

// RoundTrip implements http.RoundTripper. The response body is in memory, so the SDK need not
// drain it.
func (e *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if e.started {
		return nil, errSecondAttempt
	}
	e.started = true
	began := time.Now()
	defer func() { e.Took = time.Since(began) }()

	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { e.connected = true }}
	resp, err := e.wire.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
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

// readAll reads body up to the limit and closes it. A longer body is an error. It drains a
// part of the rest, because this is cheaper than a new connection.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer func() { _ = body.Close() }() // the data read stays valid
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
