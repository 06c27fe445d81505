package receipts

import (
	"regexp"

	"herald/internal/notification"
)

// twilioCode is one of Twilio's reasons why a message did not arrive.
type twilioCode struct {
	meaning  string
	suppress notification.SuppressionReason // empty: another message may arrive
}

// twilioCodes are those that come with a receipt. A phone that is off, a filter and a
// network say nothing about the number.
// https://www.twilio.com/docs/api/errors
var twilioCodes = map[string]twilioCode{
	"21211": {"it is no phone number", notification.SuppressedInvalid},
	"21610": {"its owner answered STOP", notification.SuppressedOptOut},
	"21614": {"it is not a mobile number", notification.SuppressedInvalid},
	"30001": {meaning: "too many messages waited at Twilio"},
	"30002": {meaning: "our account is suspended"},
	"30003": {meaning: "the phone is off or out of reach"},
	"30004": {meaning: "the number does not take messages from us"},
	"30005": {"the number is unknown or not in use any more", notification.SuppressedInvalid},
	"30006": {"the number is a landline, or its network takes no messages", notification.SuppressedInvalid},
	"30007": {meaning: "it was filtered as unwanted"},
	"30008": {meaning: "the network gives no reason"},
	"30034": {meaning: "our number is not registered for such messages"},
}

var codeForm = regexp.MustCompile(`^[0-9]{1,6}$`)

// explainCode says what a code means to people, and to the number.
func explainCode(code string) (detail string, suppress notification.SuppressionReason) {
	if !codeForm.MatchString(code) {
		return "", ""
	}
	known, ok := twilioCodes[code]
	if !ok {
		return "error " + code, ""
	}
	return "error " + code + ": " + known.meaning, known.suppress
}
