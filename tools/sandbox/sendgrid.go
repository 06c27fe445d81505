package sandbox

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"herald/internal/notification"
)

var sendgrid = provider{
	name: "SendGrid", channel: notification.Email, fault: notification.Email, route: "POST /v3/mail/send", handle: handleMail,
	reject: rejectMail,
}

// sendgridMail is the part of an e-mail that the sandbox reads.
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send
type sendgridMail struct {
	Personalizations []personalization `json:"personalizations"`
	From             *mailbox          `json:"from"`
	Subject          string            `json:"subject"`
	Content          []mailPart        `json:"content"`
	Categories       []string          `json:"categories"`
	Headers          map[string]string `json:"headers"`
}

type personalization struct {
	To         []mailbox         `json:"to"`
	CustomArgs map[string]string `json:"custom_args"`
}

type mailbox struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

type mailPart struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// sendgridError is one of the errors in SendGrid's response.
type sendgridError struct {
	Message string  `json:"message"`
	Field   *string `json:"field"`
	Help    *string `json:"help"`
}

// handleMail answers POST /v3/mail/send like SendGrid. If local, links in e-mails may lead to this
// machine.
func handleMail(r *http.Request, body []byte, local bool) (Entry, response) {
	var mail sendgridMail
	err := json.Unmarshal(body, &mail)
	entry := mail.entry()
	switch {
	case !hasBearer(r):
		return entry, rejectMail(http.StatusUnauthorized)
	case !hasMediaType(r, "application/json"):
		return entry, rejectMail(http.StatusUnsupportedMediaType)
	case err != nil:
		return entry, rejectMail(http.StatusBadRequest)
	}
	if errs := mail.check(local); len(errs) > 0 {
		return entry, reply(http.StatusBadRequest, map[string][]sendgridError{"errors": errs})
	}
	id := rand.Text()
	return entry, response{status: http.StatusAccepted, header: map[string]string{"X-Message-Id": id}, sent: sentMail{id: id, mail: mail}}
}

// entry returns the e-mail of all recipients. The last part of the content has the most
// markup.
func (m *sendgridMail) entry() Entry {
	entry := Entry{Title: m.Subject, Unsubscribe: m.unsubscribe()}
	var to []string
	for _, p := range m.Personalizations {
		entry.DeliveryID = cmp.Or(entry.DeliveryID, p.CustomArgs["delivery_id"])
		for _, box := range p.To {
			to = append(to, box.Email)
		}
	}
	entry.Recipient = strings.Join(to, ", ")
	for _, part := range m.Content {
		if part.Type == "text/plain" {
			entry.Text = part.Value
		}
	}
	if len(m.Content) > 0 {
		entry.Body = m.Content[len(m.Content)-1].Value
	}
	return entry
}

// sendgridMessages are SendGrid's texts for statuses, where they differ from HTTP's texts.
var sendgridMessages = map[int]string{
	http.StatusUnauthorized:         "The provided authorization grant is invalid, expired, or revoked",
	http.StatusForbidden:            "access forbidden",
	http.StatusUnsupportedMediaType: "Content-Type should be application/json.",
	http.StatusTooManyRequests:      "too many requests",
}

// rejectMail returns SendGrid's response to a request that it rejects as a whole.
func rejectMail(status int) response {
	text := cmp.Or(sendgridMessages[status], http.StatusText(status))
	return reply(status, map[string][]sendgridError{"errors": {{Message: text}}})
}
