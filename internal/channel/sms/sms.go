// Package sms holds the checks of a message and of a number, which all providers of text messages
// share. Package wiring lists the providers.
package sms

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"herald/internal/notification"
)

// bodyLimit is Twilio's limit in characters (error 21617). It applies to all providers, so that each of
// them can send any message. Vonage documents no limit.
const bodyLimit = 1600

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// Flaw returns why no provider can send a message, or "".
func Flaw(msg notification.Message) string {
	switch {
	case !e164.MatchString(msg.To):
		return "invalid number"
	case strings.TrimSpace(msg.Body) == "":
		return "empty body"
	case utf8.RuneCountInString(msg.Body) > bodyLimit:
		return "body too long"
	default:
		return ""
	}
}

// IsNumber reports whether text is a valid phone number in E.164.
func IsNumber(text string) bool {
	number, err := phonenumbers.Parse(text, phonenumbers.UNKNOWN_REGION)
	return err == nil && phonenumbers.IsValidNumber(number) && phonenumbers.Format(number, phonenumbers.E164) == text
}
