package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"

	"github.com/emersion/go-smtp"

	"herald/internal/notification"
)

// smtpServer has only the fields that a fault needs.
var smtpServer = provider{name: "Mail server", channel: notification.Email, fault: "SMTP", reject: func(status int) response {
	return response{status: status, header: map[string]string{}}
}}

// smtpAccepted is the reply to a mail that the server accepts.
const smtpAccepted = 250

// ServeSMTP serves the listener as a mail server until ctx ends, then closes it and returns nil. It
// takes mails without TLS and without a password, except to mailboxes whose name begins with
// "invalid". A fault's status is the reply to the data.
func (s *Server) ServeSMTP(ctx context.Context, listener net.Listener) error {
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{Server: s, ctx: ctx, conn: c.Conn()}, nil
	}))
	server.Domain, server.MaxMessageBytes, server.EnableSMTPUTF8 = "localhost", bodyLimit, true
	server.ReadTimeout, server.WriteTimeout = idleTimeout, writeTimeout
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("sandbox: serve SMTP: %w", err)
	}
	return nil
}

// mailSession is one connection to the mail server.
type mailSession struct {
	*Server
	ctx  context.Context
	conn net.Conn
	to   string
}

// Mail implements [smtp.Session].
func (m *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt refuses mailboxes that do not exist.
func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "invalid") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	}
	m.to = to
	return nil
}

// Data takes a mail, and applies the fault.
func (m *mailSession) Data(r io.Reader) error {
	entry, err := readMail(r)
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "malformed mail"}
	}
	entry.Channel, entry.Recipient = notification.Email, m.to
	reply, accepted := m.applyFault(m.ctx, smtpServer, response{status: smtpAccepted})
	entry.Status, entry.Accepted = reply.status, accepted
	if err := m.ledger.append(entry); err != nil {
		slog.Error("the sandbox cannot write its ledger", "channel", entry.Channel, "error", err)
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "the sandbox cannot write its ledger"}
	}
	switch {
	case reply.status == 0:
		_ = m.conn.Close()
		return errors.New("cut")
	case !accepted:
		return &smtp.SMTPError{Code: entry.Status, EnhancedCode: smtp.EnhancedCodeNotSet, Message: "a fault"}
	default:
		return nil
	}
}

// Reset implements [smtp.Session].
func (m *mailSession) Reset() { m.to = "" }

// Logout implements [smtp.Session].
func (m *mailSession) Logout() error { return nil }

// readMail returns the mail with its parts in HTML and in plain text.
func readMail(r io.Reader) (Entry, error) {
	read, err := mail.ReadMessage(r)
	if err != nil {
		return Entry{}, err
	}
	title, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{
		DeliveryID: read.Header.Get("X-Herald-Delivery-Id"), Title: title, Unsubscribe: strings.Trim(read.Header.Get("List-Unsubscribe"), "<>"),
	}
	_, params, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil {
		return Entry{}, err
	}
	for parts := multipart.NewReader(read.Body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return entry, nil
		}
		if err != nil {
			return Entry{}, err
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return Entry{}, err
		}
		switch text := strings.TrimSuffix(string(body), "\r\n"); {
		case strings.HasPrefix(part.Header.Get("Content-Type"), "text/html"):
			entry.Body = text
		case strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain"):
			entry.Text = text
		}
	}
}
