package sandbox

import (
	"fmt"
	"net/mail"
	"strings"
)

// SendGrid's limits.
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/limitations
const (
	maxPersonalizations = 1000
	maxMailRecipients   = 1000
	maxCustomArgs       = 10_000 // bytes of names and values
	maxAddress          = 320    // bytes
)

// sendgridErrors collects all errors of an e-mail, like SendGrid.
type sendgridErrors []sendgridError

func (e *sendgridErrors) add(field, format string, args ...any) {
	help := "https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors"
	*e = append(*e, sendgridError{Message: fmt.Sprintf(format, args...), Field: &field, Help: &help})
}

// check returns all errors for which SendGrid would reject the e-mail.
func (m *sendgridMail) check(local bool) []sendgridError {
	var errs sendgridErrors
	errs.checkPersonalizations(m)
	errs.checkFrom(m.From)
	errs.checkSubject(m.Subject)
	errs.checkContent(m.Content)
	errs.checkCategories(m.Categories)
	errs.checkHeaders(m, local)
	return errs
}

func (e *sendgridErrors) checkPersonalizations(m *sendgridMail) {
	recipients := 0
	for i, p := range m.Personalizations {
		field := fmt.Sprintf("personalizations.%d", i)
		recipients += len(p.To)
		if len(p.To) == 0 {
			e.add(field+".to",
				"The to array is required for all personalization objects, and must have at least one email object with a valid email address.")
		}
		e.checkMailboxes(field, p)
		if size := sizeOf(p.CustomArgs); size > maxCustomArgs {
			e.add(field+".custom_args", "Custom arguments must be less than 10,000 bytes. You have %d bytes.", size)
		}
	}
	switch {
	case len(m.Personalizations) == 0:
		e.add("personalizations", "The personalizations field is required and must have at least one personalization.")
	case len(m.Personalizations) > maxPersonalizations:
		e.add("personalizations", "The personalization block is limited to %d personalizations per API request.", maxPersonalizations)
	case recipients > maxMailRecipients:
		e.add("personalizations", "There is a limit of %d total recipients per request.", maxMailRecipients)
	}
}

func (e *sendgridErrors) checkMailboxes(field string, p personalization) {
	seen := map[string]bool{}
	for i, box := range p.To {
		if !isAddress(box.Email) {
			e.add(fmt.Sprintf("%s.to.%d.email", field, i), "Does not contain a valid address.")
		}
		if strings.ContainsAny(box.Name, ";,\r\n") {
			e.add(fmt.Sprintf("%s.to.%d.name", field, i), "The name must not contain semicolons, commas or line breaks.")
		}
		if address := strings.ToLower(box.Email); seen[address] {
			e.add(field, "Each unique email address in the personalizations array should only be included once.")
		} else {
			seen[address] = true
		}
	}
}

func (e *sendgridErrors) checkFrom(from *mailbox) {
	switch {
	case from == nil || from.Email == "":
		e.add("from.email",
			"The from object must be provided for every email send. It is an object that requires the email parameter, but may also contain a "+
				"name parameter.")
	case !isAddress(from.Email):
		e.add("from.email", "The from email does not contain a valid address.")
	case !isASCII(from.Email) || !isASCII(from.Name):
		e.add("from", "The from field does not support Unicode.")
	case strings.ContainsAny(from.Name, "\r\n"):
		e.add("from.name", "The name must not contain line breaks.")
	}
}

func (e *sendgridErrors) checkSubject(subject string) {
	if subject == "" {
		e.add("subject",
			"The subject is required. You can get around this requirement if you use a template with a subject defined or if every "+
				"personalization has a subject defined.")
	}
	if strings.ContainsAny(subject, "\r\n") {
		e.add("subject", "The subject must not contain line breaks.")
	}
}

func (e *sendgridErrors) checkContent(parts []mailPart) {
	if len(parts) == 0 {
		e.add("content",
			"Unless a valid template_id is provided, the content parameter is required. There must be at least one defined content block.")
	}
	// Other types, such as text/calendar, follow text/plain and text/html.
	rank := map[string]int{"text/plain": 0, "text/html": 1}
	last := -1
	for i, part := range parts {
		if part.Type == "" || strings.ContainsAny(part.Type, ";\r\n") || !strings.Contains(part.Type, "/") {
			e.add(fmt.Sprintf("content.%d.type", i), "The content type must be a valid MIME type without parameters.")
		}
		if part.Value == "" {
			e.add(fmt.Sprintf("content.%d.value", i), "The content value must be a string at least one character in length.")
		}
		place, ranked := rank[strings.ToLower(part.Type)]
		if !ranked {
			place = len(rank)
		}
		if place < last {
			e.add("content", "If present, text/plain must be first, followed by text/html, and then by any other content.")
		}
		last = max(last, place)
	}
}

// isAddress reports whether the text is an address without a name, in a domain with a dot. SendGrid accepts
// one that is not in ASCII, and drops the mail later.
func isAddress(address string) bool {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Name != "" || strings.ContainsAny(address, "<>") || len(address) > maxAddress || !isASCII(address) {
		return false
	}
	domain := address[strings.LastIndexByte(address, '@')+1:]
	return strings.Contains(domain, ".")
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > '\x7f' })
}

func sizeOf(args map[string]string) int {
	size := 0
	for name, value := range args {
		size += len(name) + len(value)
	}
	return size
}
