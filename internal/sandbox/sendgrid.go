package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"herald/internal/notification"
)

var sendgrid = provider{channel: notification.Email, judge: judgeMail, refuse: refuseMail}

// sendgridMail is what the sandbox reads of a mail.
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send
type sendgridMail struct {
	Personalizations []personalization `json:"personalizations"`
	From             *mailbox          `json:"from"`
	Subject          string            `json:"subject"`
	Content          []mailPart        `json:"content"`
	CustomArgs       map[string]string `json:"custom_args"`
}

type personalization struct {
	To         []mailbox         `json:"to"`
	CC         []mailbox         `json:"cc"`
	BCC        []mailbox         `json:"bcc"`
	Subject    string            `json:"subject"`
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

// mailFlaw is one of the errors in SendGrid's answer.
type mailFlaw struct {
	Message string  `json:"message"`
	Field   *string `json:"field"`
	Help    *string `json:"help"`
}

// judgeMail answers as POST /v3/mail/send.
func judgeMail(r *http.Request, body []byte) (message, answer) {
	var mail sendgridMail
	err := json.Unmarshal(body, &mail)
	msg := mail.message()
	switch {
	case !hasBearer(r):
		return msg, refuseMail(http.StatusUnauthorized)
	case !hasMediaType(r, "application/json"):
		return msg, refuseMail(http.StatusUnsupportedMediaType)
	case err != nil:
		return msg, refuseMail(http.StatusBadRequest)
	}
	if flaws := mail.flaws(); len(flaws) > 0 {
		return msg, reply(http.StatusBadRequest, map[string][]mailFlaw{"errors": flaws})
	}
	return msg, answer{status: http.StatusAccepted, header: map[string]string{"X-Message-Id": rand.Text()}}
}

// message is the mail as its first reader sees it: the richest part is the body.
func (m *sendgridMail) message() message {
	msg := message{title: m.Subject}
	var to []string
	for i, p := range m.Personalizations {
		if i == 0 {
			msg.deliveryID = p.CustomArgs["delivery_id"]
			if p.Subject != "" {
				msg.title = p.Subject
			}
		}
		for _, box := range p.To {
			to = append(to, box.Email)
		}
	}
	msg.recipient = strings.Join(to, ", ")
	if len(m.Content) > 0 {
		msg.body = m.Content[len(m.Content)-1].Value
	}
	return msg
}

// refuseMail is SendGrid's answer to a request as a whole.
func refuseMail(status int) answer {
	text := http.StatusText(status)
	switch status {
	case http.StatusBadRequest:
		text = "Bad Request"
	case http.StatusUnauthorized:
		text = "The provided authorization grant is invalid, expired, or revoked"
	case http.StatusForbidden:
		text = "access forbidden"
	case http.StatusUnsupportedMediaType:
		text = "Content-Type should be application/json."
	case http.StatusTooManyRequests:
		text = "too many requests"
	}
	return reply(status, map[string][]mailFlaw{"errors": {{Message: text}}})
}
