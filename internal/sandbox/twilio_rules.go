package sandbox

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

const maxSMS = 1600 // characters; Twilio's

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

// magicTo and magicFrom are the numbers that fail on purpose.
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
		"+15005550008": {Code: 21611, Message: "This 'From' number has exceeded the maximum number of queued messages", Status: http.StatusTooManyRequests},
	}
)

var (
	e164         = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	alphanumeric = regexp.MustCompile(`^[A-Za-z0-9 ]{0,10}[A-Za-z][A-Za-z0-9 ]{0,10}$`)
)

// isPhone accepts every possible number, also those that nobody has: the example uses such.
func isPhone(number string) bool {
	if !e164.MatchString(number) {
		return false
	}
	parsed, err := phonenumbers.Parse(number, "")
	return err == nil && phonenumbers.IsPossibleNumber(parsed)
}

func isAlphanumericSender(name string) bool { return len(name) <= 11 && alphanumeric.MatchString(name) }

func isWebURL(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// privateNames are top-level names that the public internet does not have.
var privateNames = []string{"localhost", "local", "internal", "lan", "home", "corp", "test", "invalid", "arpa"}

// isPublic says that the public internet may reach the host, judged by its name or address.
func isPublic(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsGlobalUnicast() && !address.IsPrivate()
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	return len(labels) > 1 && !slices.Contains(privateNames, labels[len(labels)-1])
}
