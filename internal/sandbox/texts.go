package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Text is a text message that a person sends to the number of which they got one.
type Text struct {
	From string `json:"from"` // the person's number
	Body string `json:"body"`
}

// AnsweredText is how the sandbox passed a text on.
type AnsweredText struct {
	MessageSID string `json:"message_sid"`
	OptOutType string `json:"opt_out_type,omitempty"` // STOP, START or HELP; empty: none of the three
	Status     int    `json:"status"`                 // the gateway's
}

// optOutWords are the words of each kind. A text has to be one of them and nothing else.
// https://help.twilio.com/articles/223134027
var optOutWords = map[string][]string{
	"STOP":  {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"},
	"START": {"START", "YES", "UNSTOP"},
	"HELP":  {"HELP", "INFO"},
}

func optOutType(body string) string {
	word := strings.ToUpper(strings.TrimSpace(body))
	for kind, words := range optOutWords {
		if slices.Contains(words, word) {
			return kind
		}
	}
	return ""
}

// phones is what Twilio knows of the people with phones.
type phones struct {
	mu       sync.Mutex
	optedOut map[string]bool // numbers that have sent STOP and not START
	account  twilioAccount   // the one that sent the last message: it gets the answers
}

func (p *phones) isOptedOut(number string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.optedOut[number]
}

// gotMessage remembers who sent a message.
func (p *phones) gotMessage(from twilioAccount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account = from
}

// heard does what Twilio does about a text by itself, and returns whom it is for.
func (p *phones) heard(from, kind string) twilioAccount {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch kind {
	case "STOP":
		p.optedOut[from] = true
	case "START":
		delete(p.optedOut, from)
	}
	return p.account
}

func parseText(r io.Reader) (Text, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var text Text
	if err := decoder.Decode(&text); err != nil {
		return Text{}, fmt.Errorf("not a text: %w", err)
	}
	switch {
	case !isPhone(text.From):
		return Text{}, errors.New("from must be a number like +393331234567")
	case text.Body == "" || len(text.Body) > maxSMS:
		return Text{}, fmt.Errorf("body must have 1 to %d bytes", maxSMS)
	}
	return text, nil
}

// text passes a text on to the gateway, as Twilio does, and responds with what came of it.
func (s *Server) text(w http.ResponseWriter, r *http.Request) {
	text, err := parseText(http.MaxBytesReader(w, r.Body, faultLimit))
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	kind := optOutType(text.Body)
	account := s.phones.heard(text.From, kind)
	switch {
	case s.courier.gateway == "":
		writeError(w, http.StatusConflict, errors.New("the sandbox knows no gateway: start it with --gateway"))
		return
	case account.callback == nil:
		writeError(w, http.StatusConflict, errors.New("nobody to answer: no text message was sent yet with a StatusCallback, for which PUBLIC_URL must be set"))
		return
	}
	sid := "SM" + randomHex()
	status, err := s.passOn(r, account.inbound(text, sid, kind))
	switch {
	case err != nil:
		writeError(w, http.StatusBadGateway, err)
	case !isSuccess(status):
		writeError(w, http.StatusBadGateway, fmt.Errorf("the gateway answered %d", status))
	default:
		writeJSON(w, http.StatusOK, AnsweredText{MessageSID: sid, OptOutType: kind, Status: status})
	}
}

// passOn sends the post as often as Twilio does.
func (s *Server) passOn(r *http.Request, p *post) (status int, err error) {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		status, _, err = p.send(r.Context(), s.courier.client, s.courier.gateway)
		if _, again := p.repeats(attempt, began, status); !again {
			return status, err
		}
	}
}

// inbound is Twilio's request with a text for the account. At Twilio the number has the URL for it;
// here it is beside the one for receipts.
func (a twilioAccount) inbound(text Text, sid, kind string) *post {
	form := url.Values{
		"AccountSid": {a.sid}, "ApiVersion": {"2010-04-01"}, "From": {text.From}, "To": {a.number}, "Body": {text.Body},
		"MessageSid": {sid}, "SmsSid": {sid}, "SmsMessageSid": {sid}, "SmsStatus": {"received"}, "NumMedia": {"0"}, "NumSegments": {"1"},
	}
	if kind != "" {
		form.Set("OptOutType", kind)
	}
	to := a.callback.JoinPath("inbound")
	to.RawQuery, to.Fragment = "", ""
	return a.post(to, form)
}

func randomHex() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails
	return hex.EncodeToString(random)
}
