package email

import (
	"strings"
	"unicode"

	"github.com/k3a/html2text"
	sendgridmail "github.com/sendgrid/sendgrid-go/helpers/mail"

	"herald/internal/notification"
)

// flaw names what makes msg impossible to send, or returns "". Nothing with a
// flaw may reach the provider: a line break in a title would be a header of
// somebody else's choice.
func flaw(msg notification.Message) string {
	switch {
	case hasLineBreak(msg.Title):
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

// compose writes the mail: HTML, with a plain-text part before it, as
// SendGrid's order demands. The delivery id goes into the personalization,
// because only from there do all of SendGrid's events repeat it.
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

// plainText is the body without markup, or the title where nothing is left:
// SendGrid refuses an empty part.
func plainText(msg notification.Message) string {
	text := html2text.HTML2TextWithOptions(escapeStray(msg.Body), html2text.WithUnixLineBreaks(), html2text.WithLinksInnerText(), html2text.WithListSupport())
	if text = strings.TrimSpace(text); text == "" {
		return msg.Title
	}
	return text
}

// escapeStray escapes each ">" that ends no tag. The library takes such a one
// for the end of a tag that began with the body: it drops it, and over a body
// full of them takes time with the square of their number, seconds for 64 KiB.
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

// cleanName takes out what SendGrid refuses in to.name, and line breaks.
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

func hasLineBreak(s string) bool { return strings.ContainsAny(s, "\r\n") }
