// Package email holds our address and the checks of a message, which all providers of e-mail share.
// Package wiring lists the providers.
package email

import (
	"net/mail"
	"regexp"
	"strings"

	"herald/internal/config/environment"
	"herald/internal/notification"
)

// From is our address at every provider.
type From struct {
	Address string `env:"EMAIL_FROM"`      // in ASCII; providers know it as a verified sender
	Name    string `env:"EMAIL_FROM_NAME"` // in ASCII, as SendGrid requires; may be empty
}

// ASCIILine is one line of ASCII.
var ASCIILine = regexp.MustCompile(`^[ -~]*$`)

// Check checks the address. It is required if the setting `because` switches a provider on.
func (f From) Check(r *environment.Reader, on bool, because string) {
	if on {
		r.Need("EMAIL_FROM", f.Address, because)
	}
	if f.Address != "" && (!IsAddress(f.Address) || !ASCIILine.MatchString(f.Address)) {
		r.Refuse("EMAIL_FROM", "must be a mail address in ASCII, without a name")
	}
	r.Match("EMAIL_FROM_NAME", f.Name, ASCIILine, "must be one line of ASCII")
}

// Flaw returns why no provider can send a message, or "". A line break in a title would let its
// author add headers.
func Flaw(msg notification.Message) string {
	switch {
	case strings.ContainsAny(msg.Title, "\r\n"):
		return "header injection"
	case !IsAddress(msg.To):
		return "invalid address"
	case strings.TrimSpace(msg.Title) == "":
		return "empty subject"
	case strings.TrimSpace(msg.Body) == "":
		return "empty body"
	default:
		return ""
	}
}

// IsAddress reports whether address is a plain address without a name: ada@example.com.
func IsAddress(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Address == address
}
