package sandbox

import (
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// mailEvent is one event of SendGrid's webhook.
type mailEvent = map[string]any

// mailOutcomes holds the events of each outcome in order, with the fields of that event type.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
var mailOutcomes = map[string][]mailEvent{
	outcomeDelivered: {{"event": "processed"}, delivered},
	outcomeSilent:    nil,

	"bounce": {{"event": "processed"}, {"event": "bounce", "type": "bounce", "status": "5.1.1", "bounce_classification": "Invalid Address",
		"reason": "550 5.1.1 <" + theAddress + ">: Recipient address rejected: User unknown in local recipient table"}},
	"blocked": {{"event": "processed"}, {"event": "bounce", "type": "blocked", "status": "4.7.1", "bounce_classification": "Reputation",
		"reason": "421 4.7.1 Message for " + theAddress + " temporarily blocked: too much mail from your network"}},
	"deferred": {{"event": "processed"}, deferred("1"), deferred("2"), delivered},

	"dropped-bounced":      {dropped("Bounced Address")},
	"dropped-invalid":      {dropped("Invalid")},
	"dropped-spam":         {dropped("Spam Reporting Address")},
	"dropped-unsubscribed": {dropped("Unsubscribed Address")},

	"open": {{"event": "processed"}, delivered,
		{"event": "open", "useragent": "Mozilla/5.0", "ip": "192.0.2.7", "sg_machine_open": false}},
	"spamreport":  {{"event": "processed"}, delivered, {"event": "spamreport"}},
	"unsubscribe": {{"event": "processed"}, delivered, {"event": "unsubscribe"}},
}

var delivered = mailEvent{"event": "delivered", "response": "250 2.0.0 OK", "tls": 1}

func deferred(attempt string) mailEvent {
	return mailEvent{"event": "deferred", "response": "451 4.3.0 <" + theAddress + ">: try again later", "attempt": attempt}
}

func dropped(reason string) mailEvent { return mailEvent{"event": "dropped", "reason": reason} }

// theAddress is the placeholder for the recipient's address in the text of a mail server.
const theAddress = "{address}"

// sentMail is an e-mail that SendGrid has accepted.
type sentMail struct {
	id   string // X-Message-Id
	mail sendgridMail
}

// receipts returns SendGrid's events for each recipient of the e-mail.
func (m sentMail) receipts(settings Receipts, now time.Time) []receipt {
	var receipts []receipt
	for _, p := range m.mail.Personalizations {
		for _, box := range p.To {
			events := mailOutcomes[settings.outcome(box.Email)]
			for i, at := range settings.times(now, len(events)) {
				receipts = append(receipts, receipt{due: at, event: m.event(events[i], box.Email, p.CustomArgs, at)})
			}
		}
	}
	return receipts
}

// event adds the fields that all events have to an event of the outcome.
func (m sentMail) event(said mailEvent, address string, args map[string]string, at time.Time) json.RawMessage {
	event := mailEvent{}
	for name, value := range args { // SendGrid merges them with its own fields, which win
		event[name] = value
	}
	for name, value := range said {
		if text, isText := value.(string); isText {
			value = strings.ReplaceAll(text, theAddress, address)
		}
		event[name] = value
	}
	event["email"], event["timestamp"] = address, at.Unix()
	event["sg_event_id"] = base64.RawURLEncoding.EncodeToString([]byte(rand.Text()))
	event["sg_message_id"] = m.id + ".recvd-5f54b5d587-pczjm-1-67BADEEA-6.0"
	event["smtp-id"] = "<" + m.id + "@geopod-ismtpd-1>"
	if len(m.mail.Categories) > 0 {
		event["category"] = m.mail.Categories
	}
	return mustMarshal(event)
}

// eventPost returns SendGrid's signed request with a batch of events.
func eventPost(key *ecdsa.PrivateKey, events []json.RawMessage, now time.Time) *post {
	body := mustMarshal(events)
	stamp, signature, err := SignSendGrid(key, now, body)
	if err != nil {
		panic(err) // crypto/rand does not fail, and openKey checked the key
	}
	return &post{path: "/webhooks/sendgrid", body: body, repeats: repeatsMail, header: map[string]string{
		"Content-Type":                           "application/json",
		"User-Agent":                             "SendGrid Event API",
		"X-Twilio-Email-Event-Webhook-Signature": signature,
		"X-Twilio-Email-Event-Webhook-Timestamp": stamp,
	}}
}
