// Package address normalises addresses. People copy them from forms and contacts, with spaces, dashes
// and letters of their language. Sending, suppressing and checking use one spelling.
package address

import (
	"strings"
	"unicode"

	"herald/internal/notification"
)

// Flaw is the reason why an address cannot work, as the end of a sentence. It quotes nothing. Empty: none.
type Flaw string

// Empty is the flaw of an address that is blank.
const Empty Flaw = "that is empty"

// Normal returns the spelling of an address that providers take. The directory keeps its own.
func Normal(channel notification.Channel, text string) (string, Flaw) {
	text = notification.TrimAddress(strings.Map(visible, text))
	switch {
	case text == "":
		return "", Empty
	case channel == notification.Email:
		return normalMail(text)
	case channel == notification.SMS:
		return normalPhone(text)
	default:
		return normalURL(text)
	}
}

// Key returns the spelling that identifies an address among the suppressed ones. Mail servers ignore the
// case of a name, although they need not.
func Key(channel notification.Channel, text string) string {
	normal, flaw := Normal(channel, text)
	if flaw != "" {
		normal = notification.TrimAddress(text)
	}
	if channel == notification.Email {
		return strings.ToLower(normal)
	}
	return normal
}

// visible drops the characters that nobody sees, such as the marks that a phone's contacts put around a
// number. It keeps the two that a domain may contain.
func visible(r rune) rune {
	const joiner, nonJoiner = '\u200d', '\u200c'
	if unicode.Is(unicode.Cf, r) && r != joiner && r != nonJoiner {
		return -1
	}
	return r
}
