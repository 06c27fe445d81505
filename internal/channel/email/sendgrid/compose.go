package sendgrid

import (
	"strings"
	"unicode"

	sendgridmail "github.com/sendgrid/sendgrid-go/helpers/mail"

	"herald/internal/channel/email"
	"herald/internal/mailtext"
	"herald/internal/notification"
)

// compose builds the mail: a plain-text part, then HTML, in SendGrid's order. The delivery id
// goes into the personalization, because only that part is in all of SendGrid's events.
func (s *Sender) compose(msg notification.Message) *sendgridmail.SGMailV3 {
	to := sendgridmail.NewPersonalization()
	to.AddTos(sendgridmail.NewEmail(cleanName(msg.Name), msg.To))
	to.SetCustomArg("delivery_id", msg.DeliveryID)

	m := sendgridmail.NewV3Mail()
	m.SetFrom(sendgridmail.NewEmail(s.settings.Name, s.settings.Address))
	m.Subject = msg.Title
	m.AddPersonalizations(to)
	if isCategory(msg.Category) {
		m.AddCategories(msg.Category)
	}
	if msg.Optional && s.unsubscribeURL != nil {
		m.SetHeader("List-Unsubscribe", "<"+s.unsubscribeURL(msg)+">")
		m.SetHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click") // RFC 8058: a POST to the link is enough
	}
	m.AddContent(
		sendgridmail.NewContent("text/plain", mailtext.Plain(msg.Title, msg.Body)),
		sendgridmail.NewContent("text/html", msg.Body),
	)
	return m
}

// isCategory reports whether SendGrid accepts our category, which it uses to count mails. It
// accepts only ASCII; our categories are never too long.
// https://www.twilio.com/docs/sendgrid/ui/analytics-and-reporting/categories
func isCategory(category string) bool {
	return category != "" && email.ASCIILine.MatchString(category)
}

// cleanName removes line breaks and the characters that SendGrid refuses in to.name.
func cleanName(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == ';', r == ',':
			return -1
		case unicode.IsControl(r):
			return ' '
		default:
			return r
		}
	}, name))
}
