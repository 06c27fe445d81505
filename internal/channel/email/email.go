// Package email holds our address and the checks of a message, which all providers of e-mail share.
// Package wiring lists the providers.
package email

import (
	"regexp"
	"strings"

	"herald/internal/address"
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

// OnlyASCII is the flaw of an address whose name has other letters, at a provider that does not take them.
const OnlyASCII = "invalid address: with a letter before the @ that the provider does not take"

// Check checks the address. It is required if the setting `because` switches a provider on.
func (f From) Check(r *environment.Reader, on bool, because string) {
	if on {
		r.Need("EMAIL_FROM", f.Address, because)
	}
	normal, _ := address.Normal(notification.Email, f.Address)
	if f.Address != "" && (!strings.EqualFold(normal, f.Address) || !ASCIILine.MatchString(f.Address)) {
		r.Refuse("EMAIL_FROM", "must be a mail address in ASCII, without a name")
	}
	r.Match("EMAIL_FROM_NAME", f.Name, ASCIILine, "must be one line of ASCII")
}

// Ready returns a message with its address in the spelling that providers take, or why no provider can
// send it. A line break in a title would let its author add headers.
func Ready(msg notification.Message) (ready notification.Message, flaw string) {
	to, wrong := address.Normal(notification.Email, msg.To)
	switch {
	case strings.ContainsAny(msg.Title, "\r\n"):
		return msg, "header injection"
	case wrong != "":
		return msg, "invalid address: " + string(wrong)
	case strings.TrimSpace(msg.Title) == "":
		return msg, "empty subject"
	case strings.TrimSpace(msg.Body) == "":
		return msg, "empty body"
	}
	msg.To = to
	return msg, ""
}
