package sms

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// BodyLimit is the maximum length of a request about one text message, in bytes. Providers send a
// few KB.
const BodyLimit = 64 << 10

// Report returns the receipt of a message's status. Providers send no reliable time, so the receipt's time
// is now. Without a message, the receipt has no id and is malformed.
func Report(deliveryID, message, status, number string) notification.Receipt {
	r := notification.Receipt{DeliveryID: deliveryID, MessageID: message, At: time.Now().UTC(), Word: status, Address: number}
	if message != "" {
		r.ID = message + "/" + status
	}
	return r
}

// Words that stop and resume sending: Twilio's default words. Twilio also resumes after YES, but people
// answer YES to other questions too: it counts only with Twilio's OptOutType.
// https://help.twilio.com/articles/223134027
var (
	stopWords  = []string{"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
	startWords = []string{"START", "UNSTOP"}
)

// Answered reads a text message to our number. lifted: the person wants messages again; ok is false for
// a text that neither stops nor resumes sending.
func Answered(text string) (lifted, ok bool) {
	word := strings.ToUpper(strings.TrimSpace(text))
	lifted = slices.Contains(startWords, word)
	return lifted, lifted || slices.Contains(stopWords, word)
}

// Code is a provider's reason why a message did not arrive.
type Code struct {
	Meaning  string
	Suppress notification.SuppressionReason // empty if later messages may arrive
	Harm     notification.Harm              // what it says against us; empty: nothing
}

var codeForm = regexp.MustCompile(`^[0-9]{1,6}$`)

// Explain returns the meaning of an error, and the reason to suppress the number, if any.
func Explain(number string, codes map[string]Code) (detail string, suppress notification.SuppressionReason) {
	if !codeForm.MatchString(number) {
		return "", ""
	}
	known, ok := codes[number]
	if !ok {
		return "error " + number, ""
	}
	return "error " + number + ": " + known.Meaning, known.Suppress
}
