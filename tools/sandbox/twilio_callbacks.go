package sandbox

import (
	"net/url"
	"strings"
	"time"
)

// textOutcome is the outcome of a text message: its statuses, and the error code of the last
// status.
type textOutcome struct {
	statuses []string
	code     string
}

// textOutcomes are the outcomes of text messages.
// https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks
var textOutcomes = map[string]textOutcome{
	outcomeDelivered: {statuses: []string{"sent", "delivered"}},
	outcomeSilent:    {},

	"undelivered": {statuses: []string{"sent", "undelivered"}, code: "30003"}, // the phone cannot be reached
	"unknown":     {statuses: []string{"sent", "undelivered"}, code: "30005"}, // nobody has the number
	"landline":    {statuses: []string{"sent", "undelivered"}, code: "30006"}, // it cannot receive text messages
	"filtered":    {statuses: []string{"sent", "undelivered"}, code: "30007"}, // taken for spam by the carrier
	"failed":      {statuses: []string{"failed"}, code: "30008"},              // unknown reason
	"opted-out":   {statuses: []string{"failed"}, code: "21610"},
}

// outcomeByNumber maps the sandbox's test numbers to outcomes.
var outcomeByNumber = map[string]string{
	"+15005550103": "undelivered",
	"+15005550105": "unknown",
	"+15005550106": "landline",
	"+15005550107": "filtered",
	"+15005550108": "failed",
	"+15005550110": "opted-out",
	"+15005550199": outcomeSilent,
}

// twilioAccount is the account that sends a text message and receives the callbacks for it.
type twilioAccount struct {
	sid, token string
	number     string
	callback   *url.URL // public URL for receipts; nil: the client wants no receipts
}

// sentText is a text message that Twilio has accepted.
type sentText struct {
	account twilioAccount
	sid, to string
}

// receipts returns Twilio's callbacks for the message.
func (t sentText) receipts(settings Receipts, now time.Time) []receipt {
	if t.account.callback == nil {
		return nil
	}
	outcome := textOutcomes[settings.outcome(t.to)]
	var receipts []receipt
	for i, at := range settings.times(now, len(outcome.statuses)) {
		form := t.form(outcome.statuses[i])
		if i == len(outcome.statuses)-1 && outcome.code != "" {
			form.Set("ErrorCode", outcome.code)
		}
		receipts = append(receipts, receipt{due: at, post: t.account.post(t.account.callback, form)})
	}
	return receipts
}

func (t sentText) form(status string) url.Values {
	return url.Values{
		"AccountSid": {t.account.sid}, "ApiVersion": {"2010-04-01"}, "From": {t.account.number}, "To": {t.to},
		"MessageSid": {t.sid}, "SmsSid": {t.sid}, "MessageStatus": {status}, "SmsStatus": {status},
	}
}

// post returns Twilio's request to a URL of Herald's gateway, signed with the account's token.
// Like the proxy of PUBLIC_URL, it removes the part of the path before /webhooks/. The URL's
// fragment configures Twilio's retries and is not part of the signature.
func (a twilioAccount) post(to *url.URL, form url.Values) *post {
	signed, _, _ := strings.Cut(to.String(), "#")
	path := to.RequestURI()
	if at := strings.Index(path, "/webhooks/"); at > 0 {
		path = path[at:]
	}
	return &post{path: path, body: []byte(form.Encode()), repeats: repeatsText(to.Fragment), header: map[string]string{
		"Content-Type":       "application/x-www-form-urlencoded; charset=UTF-8",
		"User-Agent":         "TwilioProxy/1.1",
		"X-Twilio-Signature": SignTwilio(a.token, signed, form),
	}}
}
