package email

import (
	"strings"
	"unicode"

	"github.com/k3a/html2text"
	sendgridmail "github.com/sendgrid/sendgrid-go/helpers/mail"

	"herald/internal/notification"
)

// flaw names what makes msg impossible to send, or returns "". A line break in a title
// would let its author add headers.
func flaw(msg notification.Message) string {
	switch {
	case strings.ContainsAny(msg.Title, "\r\n"):
		return "header injection"
	case !isAddress(msg.To):
		return "invalid address"
	case strings.TrimSpace(msg.Title) == "":
		return "empty subject"
	case strings.TrimSpace(msg.Body) == "":
		return "empty body"
	default:
		return ""
	}
}

// compose writes the mail: a plain-text part and HTML, in the order that SendGrid
// demands. The delivery id goes into the personalization, since SendGrid repeats only
// that in all of its events.
func (s *Sender) compose(msg notification.Message) *sendgridmail.SGMailV3 {
	to := sendgridmail.NewPersonalization()
	to.AddTos(sendgridmail.NewEmail(cleanName(msg.Name), msg.To))
	to.SetCustomArg("delivery_id", msg.DeliveryID)

	m := sendgridmail.NewV3Mail()
	m.SetFrom(sendgridmail.NewEmail(s.settings.FromName, s.settings.From))
	m.Subject = msg.Title
	m.AddPersonalizations(to)
	m.AddContent(
		sendgridmail.NewContent("text/plain", plainText(msg)),
		sendgridmail.NewContent("text/html", msg.Body),
	)
	return m
}

// plainText is the body without markup, or the title if nothing is left, since
// SendGrid refuses an empty part.
func plainText(msg notification.Message) string {
	text := html2text.HTML2TextWithOptions(escapeStray(msg.Body), html2text.WithUnixLineBreaks(), html2text.WithLinksInnerText(), html2text.WithListSupport())
	if text = strings.TrimSpace(text); text == "" {
		return msg.Title
	}
	return text
}

// escapeStray escapes each ">" that ends no tag. The library would take it for the end
// of a tag and drop it. Its time grows with the square of their number: a body of
// 64 KiB of them takes seconds.
func escapeStray(body string) string {
	var b strings.Builder
	inTag := false
	for _, r := range body {
		if r == '>' && !inTag {
			b.WriteString("&gt;")
			continue
		}
		inTag = r == '<' || inTag && r != '>'
		b.WriteRune(r)
	}
	return b.String()
}

// cleanName removes line breaks and what SendGrid refuses in to.name.
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
