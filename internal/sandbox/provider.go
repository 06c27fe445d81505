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

// bodyLimit is in bytes. SendGrid alone would take more, 30 MB, for
// attachments that nobody here sends.
const bodyLimit = 1 << 20

// provider is how one of the providers speaks.
type provider struct {
	channel notification.Channel
	judge   func(r *http.Request, body []byte) (message, answer)
	refuse  func(status int) answer // in the provider's form, for a fault or a body that is too large
}

// message is what a request asks to be sent, as far as it can be read: a
// request that is refused has a line in the ledger as well.
type message struct {
	deliveryID, recipient, title, body string
}

// answer is what a provider says to a request.
type answer struct {
	status int
	header map[string]string
	body   []byte
}

// none is said where nothing is: the connection was cut, or the client left.
var none = answer{}

// accepts says that the provider would deliver the message.
func (a answer) accepts() bool { return a.status >= 200 && a.status < 300 }

// provide lets p answer requests, disturbed by the fault of its channel.
func (s *Server) provide(p provider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.conclude(w, p, message{}, p.refuse(http.StatusRequestEntityTooLarge), false)
			return
		case err != nil:
			s.conclude(w, p, message{}, none, false)
			return
		}
		msg, said := p.judge(r, body)
		said, accepted := s.disturb(r.Context(), p, said)
		s.conclude(w, p, msg, said, accepted)
	})
}

// disturb does to an answer what the channel's fault asks for, and says
// whether the message counts as sent.
func (s *Server) disturb(ctx context.Context, p provider, said answer) (answer, bool) {
	fault, hit := s.faults.strike(p.channel)
	if !hit {
		return said, said.accepts()
	}
	if !wait(ctx, time.Duration(fault.Latency)) {
		return none, false
	}
	switch {
	case fault.Drop == dropBefore:
		return none, false
	case fault.Drop == dropAfter:
		return none, said.accepts()
	case fault.Status != 0:
		return fault.decorate(p.refuse(fault.Status)), false
	default:
		return said, said.accepts()
	}
}

// conclude writes the line into the ledger, and only then the answer: what a
// client was told survives a crash of ours.
func (s *Server) conclude(w http.ResponseWriter, p provider, msg message, said answer, accepted bool) {
	err := s.ledger.append(Entry{
		Channel:    p.channel,
		DeliveryID: msg.deliveryID,
		Recipient:  msg.recipient,
		Title:      msg.title,
		Body:       msg.body,
		Status:     said.status,
		Accepted:   accepted,
	})
	if err != nil {
		slog.Error("the sandbox cannot write its ledger", "channel", p.channel, "error", err)
		http.Error(w, "the sandbox cannot write its ledger", http.StatusInternalServerError)
		return
	}
	if said.status == 0 {
		panic(http.ErrAbortHandler) // net/http's way to close a connection without an answer
	}
	for name, value := range said.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(said.status)
	_, _ = w.Write(said.body) // a client that is gone has its line all the same
}

// readBody reads to the end, without which net/http does not notice a client
// that goes away while it waits.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// The deadline is the connection's, so it must not outlive the body. A
	// writer without deadlines is one of a test.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
}

// wait returns false where ctx ends before d has passed.
func wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reply is an answer in JSON.
func reply(status int, value any) answer {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values are ours, and made of strings and numbers
	}
	return answer{status: status, header: map[string]string{"Content-Type": "application/json"}, body: body}
}

// hasMediaType says that the request declares its body as mediaType.
func hasMediaType(r *http.Request, mediaType string) bool {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && got == mediaType
}

// hasBearer says that the request carries a bearer token. Which one does not
// matter: the sandbox gives out none.
func hasBearer(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != ""
}
