package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
)

// bodyLimit is the maximum size of a request, in bytes. Only SendGrid accepts more (30 MB), for
// attachments, which Herald does not send.
const bodyLimit = 1 << 20

// provider is the behaviour of one provider.
type provider struct {
	name    string
	channel notification.Channel
	fault   notification.Channel // its name in PUT /faults
	route   string               // of its requests; empty: it speaks no HTTP
	// handle returns the parts of the message that it can read. It does so for a rejected request, too,
	// because the ledger has a line for each request.
	handle func(r *http.Request, body []byte, local bool) (Entry, response)
	reject func(status int) response // in the provider's format, for a fault or a body that is too large
}

// providers are all providers, in the order of the page.
var providers = []provider{sendgrid, smtpServer, twilio, vonage, fcm, webPush, slack, webhook}

// response is a provider's response to a request.
type response struct {
	status int
	header map[string]string
	body   []byte
	sent   message // message that gets receipts; nil: none

	refused bool // the body refuses the message, whatever the status
}

// noResponse cuts the connection without a response.
var noResponse = response{}

// accepted reports whether the provider would deliver the message.
func (r response) accepted() bool { return r.status >= 200 && r.status < 300 && !r.refused }

// provide answers requests like provider p, and applies the fault of its channel.
func (s *Server) provide(p provider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry, resp := Entry{}, noResponse
		var sent message
		body, err := readBody(w, r)
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
			entry, resp = p.handle(r, body, s.local)
			sent = resp.sent
			resp, entry.Accepted = s.applyFault(r.Context(), p, resp)
		case errors.As(err, &tooLarge):
			resp = p.reject(http.StatusRequestEntityTooLarge)
		}
		entry.Channel, entry.Status = p.channel, resp.status
		if !s.record(w, entry) {
			return
		}
		if entry.Accepted && sent != nil {
			s.courier.announce(sent)
		}
		respond(w, resp)
	})
}

// applyFault returns the response after the channel's fault, and whether the message counts
// as sent.
func (s *Server) applyFault(ctx context.Context, p provider, resp response) (response, bool) {
	fault, hit := s.faults.hit(p.fault)
	switch {
	case !hit:
		return resp, resp.accepted()
	case !wait(ctx, time.Duration(fault.Latency)), fault.Drop == dropBefore:
		return noResponse, false
	case fault.Drop == dropAfter:
		return noResponse, resp.accepted()
	case fault.Status != 0:
		return fault.withRetryAfter(p.reject(fault.Status)), false
	default:
		return resp, resp.accepted() && !fault.Lost
	}
}

// record writes the ledger's line before the response, so that the ledger has every answered
// request even if the sandbox crashes. If it fails, it responds with an error and returns false.
func (s *Server) record(w http.ResponseWriter, entry Entry) bool {
	if err := s.ledger.append(entry); err != nil {
		slog.Error("the sandbox cannot write its ledger", "channel", entry.Channel, "error", err)
		http.Error(w, "the sandbox cannot write its ledger", http.StatusInternalServerError)
		return false
	}
	return true
}

func respond(w http.ResponseWriter, resp response) {
	if resp.status == 0 {
		panic(http.ErrAbortHandler) // net/http's way to close a connection without a response
	}
	for name, value := range resp.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(resp.status)
	_, _ = w.Write(resp.body) // the client may be gone
}

// readBody reads the whole body, because only then does net/http notice that a client leaves.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// The deadline is set on the connection, so it must be removed after the body. The writer
	// of a test has no deadlines.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
}

// wait returns false if ctx ends before d has passed.
func wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// reply returns a response in JSON.
func reply(status int, value any) response {
	return response{status: status, header: map[string]string{"Content-Type": "application/json"}, body: mustMarshal(value)}
}

// replyText returns a response in plain text.
func replyText(status int, text string) response {
	return response{status: status, header: map[string]string{"Content-Type": "text/plain"}, body: []byte(text)}
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // all values here are made of strings and numbers
	}
	return text
}

// hasMediaType reports whether the request declares its body as mediaType.
func hasMediaType(r *http.Request, mediaType string) bool {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && got == mediaType
}

// hasBearer reports whether the request has a bearer token. The sandbox accepts any token.
func hasBearer(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != ""
}
