package sandbox

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/nyaruka/phonenumbers"

	"herald/internal/notification"
)

var vonage = provider{
	name: "Vonage", channel: notification.SMS, fault: "VONAGE", route: "POST /sms/json", handle: handleVonage, reject: rejectVonage,
}

// handleVonage answers POST /sms/json like Vonage: always 200, with a status for each message.
// https://developer.vonage.com/en/api/sms
func handleVonage(r *http.Request, body []byte, _ bool) (Entry, response) {
	form, err := url.ParseQuery(string(body))
	entry := Entry{DeliveryID: form.Get("client-ref"), Recipient: "+" + form.Get("to"), Body: form.Get("text")}
	key, secret, _ := r.BasicAuth()
	number, numberErr := phonenumbers.Parse(entry.Recipient, phonenumbers.UNKNOWN_REGION)
	switch {
	case err != nil || !hasMediaType(r, "application/x-www-form-urlencoded"):
		return entry, rejectVonage(http.StatusBadRequest)
	case key == "" || secret == "":
		return entry, vonageStatus("4", "Bad Credentials")
	case form.Get("from") == "" || form.Get("to") == "" || form.Get("text") == "":
		return entry, vonageStatus("2", "Missing parameters")
	case form.Get("type") != "text" && form.Get("type") != "unicode":
		return entry, vonageStatus("3", "Invalid value for param: type")
	case numberErr != nil || !phonenumbers.IsPossibleNumber(number):
		return entry, vonageStatus("3", "Invalid value for param: to")
	}
	id := rand.Text()
	accepted := reply(http.StatusOK, map[string]any{"message-count": "1", "messages": []any{map[string]string{
		"to": form.Get("to"), "message-id": id, "status": "0", "remaining-balance": "1.0", "message-price": "0.03", "network": "00000",
		"client-ref": form.Get("client-ref"),
	}}})
	if form.Get("callback") != "" {
		accepted.sent = vonageText{key: key, secret: secret, id: id, to: form.Get("to"), reference: form.Get("client-ref")}
	}
	return entry, accepted
}

// vonageText is a text message that Vonage has accepted.
type vonageText struct{ key, secret, id, to, reference string }

// vonageOutcomes are Vonage's words for the last statuses and errors of Twilio.
var vonageOutcomes = map[string][2]string{
	"": {"delivered", "0"}, "30003": {"failed", "2"}, "30005": {"failed", "9"}, "30006": {"rejected", "9"}, "30007": {"rejected", "6"},
	"30008": {"failed", "1"}, "21610": {"rejected", "4"},
}

// receipts returns Vonage's receipt for the message. It is signed with the API secret.
func (v vonageText) receipts(settings Receipts, now time.Time) []receipt {
	outcome := settings.outcome("+" + v.to)
	if outcome == outcomeSilent {
		return nil
	}
	words := vonageOutcomes[textOutcomes[outcome].code]
	fields := map[string]string{
		"msisdn": v.to, "messageId": v.id, "status": words[0], "err-code": words[1], "api-key": v.key, "client-ref": v.reference,
		"scts": now.Format("0601021504"), "message-timestamp": now.UTC().Format(time.DateTime), "nonce": rand.Text(),
	}
	SignVonage(v.secret, now, fields)
	return []receipt{{due: settings.times(now, 1)[0], post: &post{
		path: "/webhooks/vonage", body: mustMarshal(fields), repeats: repeatsMail, header: map[string]string{"Content-Type": "application/json"},
	}}}
}

// vonageStatus refuses a message. Vonage's HTTP status is 200 nevertheless.
func vonageStatus(status, text string) response {
	refused := reply(http.StatusOK,
		map[string]any{"message-count": "1", "messages": []any{map[string]string{"status": status, "error-text": text}}})
	refused.refused = true
	return refused
}

// rejectVonage returns Vonage's response to a request that it rejects as a whole.
func rejectVonage(status int) response {
	return reply(status, map[string]string{"type": "https://developer.vonage.com/api-errors", "title": http.StatusText(status)})
}
