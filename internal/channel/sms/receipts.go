package sms

import (
	"regexp"
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

// Code is a provider's reason why a message did not arrive.
type Code struct {
	Meaning  string
	Suppress notification.SuppressionReason // empty if later messages may arrive
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
