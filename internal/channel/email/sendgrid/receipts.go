package sendgrid

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sendgrid/sendgrid-go/helpers/eventwebhook"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Receipts holds the settings of SendGrid's event webhook.
type Receipts struct {
	Key      environment.Secret `env:"SENDGRID_WEBHOOK_PUBLIC_KEY"` // in base64, as SendGrid shows it; empty: all requests are refused
	Previous environment.Secret `env:"SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS"`

	keys []*ecdsa.PublicKey
}

// Read reads and checks the settings.
func (s *Receipts) Read(r *environment.Reader) {
	r.Read("", s)
	r.Keys("SENDGRID_WEBHOOK_PUBLIC_KEY", s.Key, s.Previous, func(setting string, text environment.Secret) {
		key := parseKey(string(text))
		if key == nil {
			r.Refuse(setting, "must be the verification key that SendGrid shows for its signed event webhook, such as MFkw…")
		}
		s.keys = append(s.keys, key)
	})
}

// parseKey parses a key as SendGrid shows it: in base64, of the curve P-256. It returns nil for
// any other text.
func parseKey(text string) *ecdsa.PublicKey {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	key, _ := x509.ParsePKIXPublicKey(der)
	ec, ok := key.(*ecdsa.PublicKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil
	}
	return ec
}

// bodyLimit is in bytes. SendGrid sends up to 768 KB.
const bodyLimit = 1 << 20

// Receivers returns the receiver of events.
func (s *Receipts) Receivers(string) []channel.Receiver {
	return []channel.Receiver{{Path: "/webhooks/sendgrid", BodyLimit: bodyLimit, Admit: s.admit, Read: s.read}}
}

// Headers of a signed request. The time is in seconds since 1970.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
const (
	signatureHeader = eventwebhook.VerificationHTTPHeader
	timestampHeader = eventwebhook.TimestampHTTPHeader
)

// admit refuses a request if Herald has no key, or if the request has no signature or an old one.
func (s *Receipts) admit(header http.Header) error {
	switch {
	case len(s.keys) == 0:
		return channel.NoKey
	case header.Get(signatureHeader) == "" || header.Get(timestampHeader) == "":
		return channel.Unsigned
	}
	return channel.CheckAge(header.Get(timestampHeader))
}

// read refuses a body that SendGrid has not signed.
func (s *Receipts) read(r *http.Request, body []byte) (channel.Received, error) {
	signed := func(key *ecdsa.PublicKey) bool {
		valid, err := eventwebhook.VerifySignature(key, body, r.Header.Get(signatureHeader), r.Header.Get(timestampHeader))
		return err == nil && valid
	}
	if !slices.ContainsFunc(s.keys, signed) {
		return channel.Received{}, channel.Forged
	}
	return parse(body), nil
}

// parse reads the events of a body.
func parse(body []byte) (received channel.Received) {
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		return channel.Received{Malformed: 1}
	}
	for _, one := range batch {
		var e event
		if err := json.Unmarshal(one, &e); err != nil || e.DeliveryID != "" && (e.Timestamp < firstSecond || e.Timestamp > lastSecond) {
			received.Malformed++
			continue
		}
		received.Add(e.receipt())
	}
	return received
}

// event is the part of an event that Herald reads.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
type event struct {
	Event      string  `json:"event"`
	EventID    string  `json:"sg_event_id"`
	MessageID  string  `json:"sg_message_id"` // X-Message-Id, a dot, and names of SendGrid's servers
	Timestamp  float64 `json:"timestamp"`     // seconds since 1970
	Email      string  `json:"email"`
	Type       string  `json:"type"`                  // for a bounce: bounce or blocked
	Status     string  `json:"status"`                // for a bounce, such as 5.1.1
	Class      string  `json:"bounce_classification"` // for a bounce, such as Invalid Address
	Reason     string  `json:"reason"`                // for a bounce or a drop
	Response   string  `json:"response"`              // the mail server's answer, for a delivery or a deferral
	DeliveryID string  `json:"delivery_id"`
}

// The range of valid event times: the beginnings of two years.
const (
	firstSecond = 946684800   // 2000
	lastSecond  = 32503680000 // 3000
)

func (e event) receipt() notification.Receipt {
	message, _, _ := strings.Cut(e.MessageID, ".")
	r := notification.Receipt{
		ID: e.EventID, DeliveryID: e.DeliveryID, MessageID: message, Word: e.Event, Address: e.Email,
		At: time.Unix(int64(e.Timestamp), 0).UTC(), Detail: cmp.Or(e.Reason, e.Response),
	}
	e.judge(&r)
	return r
}

// judge sets the effects of an event. Events of other kinds are stored without effects.
func (e event) judge(r *notification.Receipt) {
	switch e.Event {
	case "delivered":
		r.Status = notification.Delivered
	case "bounce":
		r.Status = notification.Failed
		if e.hard() {
			r.Suppress, r.Harm = notification.SuppressedBounce, notification.HarmBounce
		}
	case "dropped":
		r.Status = notification.Failed
		r.Suppress = dropped[e.Reason]
		r.Unsubscribes = e.Reason == "Unsubscribed Address"
	case "spamreport":
		r.Suppress, r.Harm = notification.SuppressedComplaint, notification.HarmComplaint
	case "unsubscribe", "group_unsubscribe":
		r.Unsubscribes = true
	case "group_resubscribe":
		r.Resubscribes = true
	}
}

// hard reports whether a bounce means that the address gets no mail any more. With the type blocked
// the server refused only this e-mail. A bounce without the server's status has it in its reason.
func (e event) hard() bool {
	status := e.Status
	if strings.Count(status, ".") != 2 {
		status = email.StatusOf(e.Reason)
	}
	if e.Type != "bounce" || strings.HasPrefix(cmp.Or(status, e.Status), "4") {
		return false
	}
	return email.IsDead(status) || e.Class == "Invalid Address"
}

// dropped holds SendGrid's reasons for not sending at all because of the address.
var dropped = map[string]notification.SuppressionReason{
	"Bounced Address":        notification.SuppressedBounce,
	"Spam Reporting Address": notification.SuppressedComplaint,
	"Invalid":                notification.SuppressedInvalid,
}
