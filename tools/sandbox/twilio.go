package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"herald/internal/address"
	"herald/internal/notification"
)

var twilio = provider{
	name: "Twilio", channel: notification.SMS, fault: notification.SMS, route: "POST /2010-04-01/Accounts/{sid}/Messages.json",
	handle: handleSMS, reject: rejectSMS,
}

// twilioError is an error in Twilio's format.
// https://www.twilio.com/docs/usage/twilios-response#response-formats-exceptions
type twilioError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
	Status   int    `json:"status"`
}

// handleSMS answers POST /2010-04-01/Accounts/{sid}/Messages.json like Twilio. If local, it accepts
// callback URLs that only this machine can reach.
func handleSMS(r *http.Request, body []byte, local bool) (Entry, response) {
	form, err := url.ParseQuery(string(body))
	entry := Entry{Recipient: form.Get("To"), Body: form.Get("Body")}
	callback, callbackErr := url.Parse(form.Get("StatusCallback"))
	if callbackErr == nil {
		entry.DeliveryID = callback.Query().Get("delivery_id")
	}
	user, token, _ := r.BasicAuth()
	account := twilioAccount{sid: r.PathValue("sid"), token: token, number: form.Get("From")}
	switch {
	case user == "" || user != account.sid || token == "":
		return entry, rejectSMS(http.StatusUnauthorized)
	case err != nil || !hasMediaType(r, "application/x-www-form-urlencoded"):
		return entry, rejectSMS(http.StatusBadRequest)
	}
	if refusal := checkSMS(form); refusal != nil {
		return entry, twilioResponse(*refusal)
	}
	if form.Get("StatusCallback") == "" {
		return entry, queued(account, form)
	}
	if callbackErr != nil || !isWebURL(callback) || !local && !isPublic(callback.Hostname()) {
		return entry, twilioResponse(twilioError{Code: 21609, Message: "The 'StatusCallback' URL is not a valid URL."})
	}
	account.callback = callback
	return entry, queued(account, form)
}

// queued returns Twilio's response to a message that it accepts.
func queued(account twilioAccount, form url.Values) response {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails
	sid := "SM" + hex.EncodeToString(random)
	created := reply(http.StatusCreated, map[string]any{
		"account_sid":   account.sid,
		"body":          form.Get("Body"),
		"date_created":  time.Now().UTC().Format(time.RFC1123Z),
		"direction":     "outbound-api",
		"error_code":    nil,
		"error_message": nil,
		"from":          form.Get("From"),
		"sid":           sid,
		"status":        "queued",
		"to":            form.Get("To"),
	})
	created.sent = sentText{account: account, sid: sid, to: form.Get("To")}
	return created
}

// rejectSMS returns Twilio's response to a request that it rejects as a whole.
func rejectSMS(status int) response {
	refusal := twilioError{Code: 20000 + status%1000, Message: http.StatusText(status), Status: status}
	switch status {
	case http.StatusBadRequest:
		refusal.Code = 20001
	case http.StatusUnauthorized:
		refusal.Code, refusal.Message = 20003, "Authenticate"
	case http.StatusForbidden:
		refusal.Code = 20006
	}
	return twilioResponse(refusal)
}

// twilioResponse returns the response for an error. The default status is 400.
func twilioResponse(refusal twilioError) response {
	if refusal.Status == 0 {
		refusal.Status = http.StatusBadRequest
	}
	refusal.MoreInfo = fmt.Sprintf("https://www.twilio.com/docs/errors/%d", refusal.Code)
	return reply(refusal.Status, refusal)
}

const maxSMS = 1600 // characters; Twilio's limit

// checkSMS returns the first reason for which Twilio would reject the message, or nil.
func checkSMS(form url.Values) *twilioError {
	to, from, body := form.Get("To"), form.Get("From"), form.Get("Body")
	switch {
	case to == "":
		return &twilioError{Code: 21604, Message: "A 'To' phone number is required."}
	case from == "":
		return &twilioError{Code: 21603, Message: "A 'From' phone number is required."}
	case magicFrom[from] != nil:
		return magicFrom[from]
	case !isPhone(from) && !isAlphanumericSender(from):
		return invalidFrom
	case body == "":
		return &twilioError{Code: 21602, Message: "Message body is required."}
	case utf8.RuneCountInString(body) > maxSMS:
		return &twilioError{Code: 21617, Message: "The concatenated message body exceeds the 1600 character limit."}
	case magicTo[to] != nil:
		return magicTo[to]
	case !isPhone(to):
		return invalidTo
	default:
		return nil
	}
}

var (
	invalidTo   = &twilioError{Code: 21211, Message: "The 'To' number is not a valid phone number."}
	invalidFrom = &twilioError{Code: 21212, Message: "The 'From' number is not a valid phone number or alphanumeric sender ID."}
	optedOut    = &twilioError{Code: 21610, Message: "Attempt to send to unsubscribed recipient"}
)

// magicTo and magicFrom hold Twilio's test numbers, which always fail with these errors.
// https://www.twilio.com/docs/iam/test-credentials#test-sms-messages
var (
	magicTo = map[string]*twilioError{
		"+15005550001": invalidTo,
		"+15005550002": {Code: 21612, Message: "The 'To' phone number is not currently reachable via SMS."},
		"+15005550003": {Code: 21408, Message: "Permission to send an SMS has not been enabled for the region indicated by the 'To' number."},
		"+15005550004": optedOut,
		"+15005550009": {Code: 21614, Message: "'To' number is not a valid mobile number"},
	}
	magicFrom = map[string]*twilioError{
		"+15005550001": invalidFrom,
		"+15005550007": {Code: 21606, Message: "The 'From' phone number provided is not a valid, message-capable phone number for your account."},
		"+15005550008": {Code: 21611, Message: "This 'From' number has exceeded the maximum number of queued messages",
			Status: http.StatusTooManyRequests},
	}
)

var alphanumeric = regexp.MustCompile(`^[A-Za-z0-9 ]{0,10}[A-Za-z][A-Za-z0-9 ]{0,10}$`)

// isPhone reports whether number is possible. It accepts unassigned numbers: the example uses them.
func isPhone(number string) bool {
	if !address.IsNumber(number) {
		return false
	}
	parsed, err := phonenumbers.Parse(number, "")
	return err == nil && phonenumbers.IsPossibleNumber(parsed)
}

func isAlphanumericSender(name string) bool { return len(name) <= 11 && alphanumeric.MatchString(name) }

func isWebURL(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// privateNames are top-level domains that do not exist on the public internet.
var privateNames = []string{"localhost", "local", "internal", "lan", "home", "corp", "test", "invalid", "arpa"}

// isPublic reports whether the public internet may reach the host. It looks only at the name or
// address.
func isPublic(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsGlobalUnicast() && !address.IsPrivate()
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	return len(labels) > 1 && !slices.Contains(privateNames, labels[len(labels)-1])
}
