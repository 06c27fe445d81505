package smtp

import (
	"crypto/sha256"
	"encoding/hex"
	address "net/mail"

	"github.com/wneessen/go-mail"

	"herald/internal/mailtext"
	"herald/internal/notification"
)

// recipient returns the message's address. The library quotes its name again where the syntax needs it.
func recipient(msg notification.Message) *address.Address {
	to, err := address.ParseAddress(msg.To)
	if err != nil { // an address in brackets, or a long one
		to = &address.Address{Address: msg.To}
	}
	to.Name = msg.Name
	return to
}

// compose builds the mail: a plain-text part, then HTML. Repeats of a message have the same
// Message-ID, by which mailboxes recognise them.
func (s *Sender) compose(msg notification.Message) *mail.Msg {
	m := mail.NewMsg()
	m.FromMailAddress(&address.Address{Name: s.settings.Name, Address: s.settings.Address})
	m.ToMailAddress(recipient(msg))
	sum := sha256.Sum256([]byte(msg.DeliveryID))
	m.SetMessageIDWithValue(hex.EncodeToString(sum[:16]) + "@" + s.domain)
	m.SetDate()
	m.Subject(msg.Title)
	m.SetGenHeader("X-Herald-Delivery-Id", msg.DeliveryID)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic answers
	if msg.Optional && s.unsubscribeURL != nil {
		m.SetGenHeaderPreformatted("List-Unsubscribe", "<"+s.unsubscribeURL(msg)+">")
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click") // RFC 8058: a POST to the link is enough
	}
	m.SetBodyString(mail.TypeTextPlain, mailtext.Plain(msg.Title, msg.Body))
	m.AddAlternativeString(mail.TypeTextHTML, msg.Body)
	return m
}
