// Package smtp sends e-mails through a mail server: SES, Postmark, Mailgun or your own.
package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/notification"
)

const provider = "smtp"

// Sender sends mails. It is safe for concurrent use.
type Sender struct {
	settings       Settings
	domain         string // of our address, for message ids
	timeout        time.Duration
	unsubscribeURL func(notification.Message) string // nil: no links
	roots          *x509.CertPool                    // nil: the machine's
	idle           chan *session                     // connections for the next mails
}

// From returns our address, as recipients see it.
func (s *Sender) From() string { return strings.ToLower(s.settings.Address) }

// Send passes msg to the mail server, once, within the sender's time-out. Every error is a
// [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := email.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	m := s.compose(msg)
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	began := time.Now()
	connection, err := s.connect(ctx)
	if err != nil {
		return notification.Answer{Took: time.Since(began)}, unsent(ctx, err)
	}
	if !email.ASCIILine.MatchString(msg.To) && !connection.takesEveryLetter() {
		s.keep(connection)
		return notification.Answer{}, channel.Refuse(provider, email.OnlyASCII)
	}
	err = connection.send(ctx, m)
	answer := notification.Answer{Took: time.Since(began)}
	if failure := failureOf(ctx, err); failure != nil {
		connection.close()
		return answer, failure
	}
	s.keep(connection)
	answer.ProviderID = channel.ProviderID(strings.Trim(m.GetMessageID(), "<>"))
	return answer, nil
}

// unsent returns the failure of a message that had no connection.
func unsent(ctx context.Context, err error) *notification.ProviderError {
	failure := channel.Interrupted(ctx, provider, err)
	failure.Class = notification.Unreachable
	var answer *textproto.Error
	var untrusted *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &answer) && temporary(answer.Code):
		failure.Class, failure.Code = notification.Busy, strconv.Itoa(answer.Code)
	case errors.As(err, &answer): // a reply before the first mail is about our account
		failure.Class, failure.Code = notification.Account, strconv.Itoa(answer.Code)
	case errors.As(err, &untrusted):
		failure.Code = "untrusted certificate"
	case ctx.Err() == nil && !errors.As(err, &network) && !errors.Is(err, io.EOF): // the library refused the server
		failure.Class, failure.Code = notification.Account, "no STARTTLS"
	}
	return failure
}

// failureOf returns the failure of a mail; nil: the server has it. A server accepts or refuses a mail
// only after the last line of the data (RFC 5321, 4.2.5). Without that reply, the server may or may not
// have the mail.
func failureOf(ctx context.Context, err error) *notification.ProviderError {
	var failed *mail.SendError
	if !errors.As(err, &failed) {
		if err == nil {
			return nil
		}
		return unsent(ctx, err)
	}
	code := failed.ErrorCode()
	if code < 400 || code > 599 {
		failure := channel.Interrupted(ctx, provider, err)
		if failed.Reason != mail.ErrSMTPDataClose {
			failure.Class = notification.Unreachable
		}
		return failure
	}
	failure := &notification.ProviderError{
		Provider: provider, Class: notification.Refused, Code: strings.TrimSpace(strconv.Itoa(code) + " " + failed.EnhancedStatusCode()),
	}
	switch {
	case temporary(code):
		failure.Class = notification.Busy
	case failed.Reason == mail.ErrSMTPMailFrom || code == 530 || code == 535:
		failure.Class = notification.Account // the server does not take mails from us
	case failed.Reason == mail.ErrSMTPRcptTo && email.IsDead(failed.EnhancedStatusCode()):
		failure.Suppress = notification.SuppressedInvalid
	}
	return failure
}

// temporary reports whether a reply asks us to come back later.
func temporary(code int) bool { return code >= 400 && code < 500 }
