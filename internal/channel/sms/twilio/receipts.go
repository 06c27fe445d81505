package twilio

import (
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/twilio/twilio-go/client"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Receipts holds the tokens that verify Twilio's requests.
type Receipts struct {
	Token    environment.Secret `env:"TWILIO_AUTH_TOKEN"` // of our account; empty: all requests are refused
	Previous environment.Secret `env:"TWILIO_AUTH_TOKEN_PREVIOUS"`
	BaseURL  string             `env:"TWILIO_BASE_URL" envDefault:"https://api.twilio.com"`

	tokens    []environment.Secret
	publicURL string // the gateway's URL, which Twilio signs; empty: all requests are refused
}

// Read reads and checks the settings.
func (s *Receipts) Read(r *environment.Reader) {
	r.Read("", s)
	s.tokens = r.Keys("TWILIO_AUTH_TOKEN", s.Token, s.Previous, func(setting string, token environment.Secret) {
		checkToken(r, setting, token, s.BaseURL)
	})
}

// Receivers returns the receivers of statuses and of text messages to our number.
func (s *Receipts) Receivers(publicURL string) []channel.Receiver {
	s.publicURL = publicURL
	return []channel.Receiver{
		{Path: callbackPath, BodyLimit: sms.BodyLimit, Admit: s.admit, Read: s.readStatus},
		{Path: callbackPath + "/inbound", BodyLimit: sms.BodyLimit, Admit: s.admit, Read: s.readInbound, Reply: noReply},
	}
}

// signatureHeader is the header of a signed request.
// https://www.twilio.com/docs/usage/security
const signatureHeader = "X-Twilio-Signature"

// admit refuses a request if Herald has no token or no URL, or if the request has no signature.
func (s *Receipts) admit(header http.Header) error {
	switch {
	case len(s.tokens) == 0 || s.publicURL == "":
		return channel.NoKey
	case header.Get(signatureHeader) == "":
		return channel.Unsigned
	}
	return nil
}

// verified returns the fields of a request, and refuses a request that Twilio has not signed.
// Twilio's signatures have no time, so they never expire.
func (s *Receipts) verified(r *http.Request, body []byte) (url.Values, error) {
	fields, err := url.ParseQuery(string(body))
	params := make(map[string]string, len(fields))
	for name := range fields {
		params[name] = fields.Get(name)
	}
	signed := func(token environment.Secret) bool {
		validator := client.NewRequestValidator(string(token))
		return validator.Validate(s.publicURL+r.URL.RequestURI(), params, r.Header.Get(signatureHeader))
	}
	if err != nil || !slices.ContainsFunc(s.tokens, signed) {
		return nil, channel.Forged
	}
	return fields, nil
}

// readStatus reads the status of one message. The callback URL that Herald sent with the message has
// the delivery id.
// https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
func (s *Receipts) readStatus(r *http.Request, body []byte) (received channel.Received, err error) {
	fields, err := s.verified(r, body)
	if err != nil {
		return received, err
	}
	receipt := sms.Report(r.URL.Query().Get("delivery_id"), fields.Get("MessageSid"), fields.Get("MessageStatus"), fields.Get("To"))
	switch receipt.Word {
	case "delivered", "read":
		receipt.Status = notification.Delivered
	case "undelivered", "failed":
		receipt.Status = notification.Failed
		receipt.Detail, receipt.Suppress = sms.Explain(fields.Get("ErrorCode"), codes)
		receipt.Harm = codes[fields.Get("ErrorCode")].Harm
	}
	received.Add(receipt)
	return received, nil
}

// codes holds the error codes about a number, in answers and in receipts. Errors of phones, filters and
// networks do not suppress the number.
// https://www.twilio.com/docs/api/errors
var codes = map[string]sms.Code{
	"21211": {Meaning: "it is no phone number", Suppress: notification.SuppressedInvalid},
	"21610": {Meaning: "its owner answered STOP", Suppress: notification.SuppressedOptOut},
	"21635": {Meaning: "it is a landline", Suppress: notification.SuppressedInvalid},
	"21614": {Meaning: "it is not a mobile number", Suppress: notification.SuppressedInvalid},
	"30001": {Meaning: "too many messages waited at Twilio"},
	"30002": {Meaning: "our account is suspended"},
	"30003": {Meaning: "the phone is off or out of reach"},
	"30004": {Meaning: "the number does not take messages from us"},
	"30005": {Meaning: "the number is unknown or not in use any more", Suppress: notification.SuppressedInvalid},
	"30006": {Meaning: "the number is a landline, or its network takes no messages", Suppress: notification.SuppressedInvalid},
	"30007": {Meaning: "it was filtered as unwanted", Harm: notification.HarmBlock},
	"30008": {Meaning: "the network gives no reason"},
	"30034": {Meaning: "our number is not registered for such messages", Harm: notification.HarmBlock},
}

// readInbound reads a text message to our number. Only STOP and START words change anything; Twilio
// answers HELP and other texts.
func (s *Receipts) readInbound(r *http.Request, body []byte) (received channel.Received, err error) {
	fields, err := s.verified(r, body)
	if err != nil {
		return received, err
	}
	if answer, ok := parseAnswer(fields); ok {
		received.AddOptOut(answer)
	}
	return received, nil
}

// parseAnswer reads a message that stops or resumes sending. For other messages ok is false.
func parseAnswer(fields url.Values) (answer notification.OptOut, ok bool) {
	answer = notification.OptOut{MessageID: fields.Get("MessageSid"), Number: fields.Get("From")}
	switch fields.Get("OptOutType") {
	case "STOP":
		return answer, true
	case "START":
		answer.Lifted = true
		return answer, true
	case "":
		answer.Lifted, ok = sms.Answered(fields.Get("Body"))
		return answer, ok
	}
	return answer, false
}

// noReply answers with TwiML that sends no reply.
func noReply(to http.ResponseWriter, _ *http.Request) {
	to.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = io.WriteString(to, "<Response/>") // it fails only if the client has disconnected
}
