package check

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/smtp"
	"net/url"
)

// greet returns the reason why a mail server does not answer EHLO; empty: it answers.
func greet(ctx context.Context, server *url.URL) string {
	dial := new(net.Dialer).DialContext
	if server.Scheme == "smtps" {
		dial = new(tls.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", server.Host)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return untrustedCertificate
	case err != nil:
		return "no connection"
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	client, err := smtp.NewClient(conn, server.Hostname())
	if err != nil || client.Hello("localhost") != nil {
		return "no answer to EHLO"
	}
	return ""
}
