package receipts

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"herald/internal/notification"
)

// sendgrid receives a batch of events. It skips malformed events, because a repeat would be
// malformed too.
func (w *Webhooks) sendgrid(ctx context.Context, r *http.Request, body []byte) error {
	if err := w.checkSendGrid(r.Header, body); err != nil {
		return err
	}
	receipts, malformed, foreign := parseEvents(body)
	w.metrics.dropped(notification.SendGrid, outcomeMalformed, malformed)
	w.metrics.dropped(notification.SendGrid, outcomeUnknown, foreign)
	return w.record(ctx, receipts...)
}

// parseEvents reads the events of a body. foreign counts events of e-mails that other programs
// sent with the same account.
func parseEvents(body []byte) (receipts []notification.Receipt, malformed, foreign int) {
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		return nil, 1, 0
	}
	for _, one := range batch {
		var event sendgridEvent
		if err := json.Unmarshal(one, &event); err != nil {
			malformed++
			continue
		}
		if event.DeliveryID == "" {
			foreign++
			continue
		}
		receipt, err := event.receipt()
		if err != nil {
			malformed++
			continue
		}
		receipts = append(receipts, receipt)
	}
	return receipts, malformed, foreign
}

// sendgridEvent is the part of an event that Herald reads.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
type sendgridEvent struct {
	Event      string  `json:"event"`
	EventID    string  `json:"sg_event_id"`
	MessageID  string  `json:"sg_message_id"` // X-Message-Id, a dot, and names of SendGrid's servers
	Timestamp  float64 `json:"timestamp"`     // seconds since 1970
	Email      string  `json:"email"`
	Type       string  `json:"type"`     // for a bounce: bounce or blocked
	Status     string  `json:"status"`   // for a bounce, such as 5.1.1
	Reason     string  `json:"reason"`   // for a bounce or a drop
	Response   string  `json:"response"` // the mail server's answer, for a delivery or a deferral
	DeliveryID string  `json:"delivery_id"`
}

// The range of valid event times: the beginnings of two years.
const (
	firstSecond = 946684800   // 2000
	lastSecond  = 32503680000 // 3000
)

var errMalformed = errors.New("it is not as the provider documents it")

func (e sendgridEvent) receipt() (notification.Receipt, error) {
	message, _, _ := strings.Cut(e.MessageID, ".")
	r := notification.Receipt{
		Provider: notification.SendGrid, ID: e.EventID, DeliveryID: e.DeliveryID, MessageID: message, Word: e.Event, Address: e.Email,
	}
	if !storable(r) || e.Timestamp < firstSecond || e.Timestamp > lastSecond {
		return notification.Receipt{}, errMalformed
	}
	r.At = time.Unix(int64(e.Timestamp), 0).UTC()
	r.Detail = withoutAddress(e.Reason, e.Email)
	if e.Reason == "" {
		r.Detail = withoutAddress(e.Response, e.Email)
	}
	e.judge(&r)
	return r, nil
}

// judge sets the effects of an event. Events of other kinds are stored without effects.
func (e sendgridEvent) judge(r *notification.Receipt) {
	switch e.Event {
	case "delivered":
		r.Status = notification.Delivered
	case "bounce":
		r.Status = notification.Failed
		if e.hard() {
			r.Suppress = notification.SuppressedBounce
		}
	case "dropped":
		r.Status = notification.Failed
		r.Suppress = dropped[e.Reason]
		r.Unsubscribes = e.Reason == "Unsubscribed Address"
	case "spamreport":
		r.Suppress = notification.SuppressedComplaint
	case "unsubscribe", "group_unsubscribe":
		r.Unsubscribes = true
	}
}

// hard reports whether a bounce means that the address is permanently invalid. With the type
// blocked the server refused only this e-mail, and a status of 4 is temporary.
func (e sendgridEvent) hard() bool {
	return e.Type == "bounce" && !strings.HasPrefix(e.Status, "4")
}

// dropped holds SendGrid's reasons for not sending at all because of the address.
var dropped = map[string]notification.SuppressionReason{
	"Bounced Address":        notification.SuppressedBounce,
	"Spam Reporting Address": notification.SuppressedComplaint,
	"Invalid":                notification.SuppressedInvalid,
}

// Headers of a signed request.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
const (
	sendgridSignature = "X-Twilio-Email-Event-Webhook-Signature"
	sendgridTimestamp = "X-Twilio-Email-Event-Webhook-Timestamp" // seconds since 1970
)

// freshness is the maximum age of a signature, so that nobody can replay a recorded request forever.
// SendGrid repeats a request for 24 hours.
const freshness = 25 * time.Hour

// admitSendGrid refuses a request by its headers: if Herald has no key, or if the request has no
// signature or an old signature.
func (w *Webhooks) admitSendGrid(header http.Header) error {
	timestamp := header.Get(sendgridTimestamp)
	switch {
	case w.SendGridKey == nil:
		return forbidden(noKey)
	case header.Get(sendgridSignature) == "" || timestamp == "":
		return forbidden(unsigned)
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || w.now().Sub(time.Unix(seconds, 0)) > freshness {
		return forbidden(stale)
	}
	return nil
}

// checkSendGrid refuses a body without a valid signature of SendGrid.
func (w *Webhooks) checkSendGrid(header http.Header, body []byte) error {
	signature, timestamp := header.Get(sendgridSignature), header.Get(sendgridTimestamp)
	if signedBySendGrid(w.SendGridKey, signature, timestamp, body) ||
		w.PreviousSendGridKey != nil && signedBySendGrid(w.PreviousSendGridKey, signature, timestamp, body) {
		return nil
	}
	return forbidden(forged)
}

// signedBySendGrid reports whether SendGrid has made the signature: ECDSA with SHA-256 over the
// timestamp and the unchanged body, in base64.
func signedBySendGrid(key *ecdsa.PublicKey, signature, timestamp string, body []byte) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	hash := sha256.New()
	hash.Write([]byte(timestamp))
	hash.Write(body)
	return ecdsa.VerifyASN1(key, hash.Sum(nil), raw)
}
