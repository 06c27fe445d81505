package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
	wire "github.com/wneessen/go-mail/smtp"
)

// idleTimeout is the time for which a connection waits for the next mail. Servers wait at least five
// minutes (RFC 5321, 4.5.3.2.7).
const idleTimeout = time.Minute

// aliveTimeout limits the wait for the answer that shows that the server still holds a connection.
const aliveTimeout = 2 * time.Second

// session is a connection to the mail server.
type session struct {
	client *mail.Client
	smtp   *wire.Client
	conn   net.Conn
	until  time.Time // after this time, it carries no more mails
}

// connect returns a connection that the server still holds, or a new one.
func (s *Sender) connect(ctx context.Context) (*session, error) {
	for {
		select {
		case kept := <-s.idle:
			if time.Now().Before(kept.until) && kept.alive(ctx) {
				return kept, nil
			}
			kept.close()
		default:
			return s.dial(ctx)
		}
	}
}

// keep keeps a connection for the next mail.
func (s *Sender) keep(c *session) {
	c.until = time.Now().Add(idleTimeout)
	select {
	case s.idle <- c:
	default:
		c.close()
	}
}

// dial opens a connection, encrypts it, and signs in. ctx limits all three steps.
func (s *Sender) dial(ctx context.Context) (*session, error) {
	c, stop := &session{}, func() bool { return true }
	open := func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.open(dialing, network, address)
		if err == nil {
			c.conn, stop = conn, context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	client, err := mail.NewClient(s.settings.server.host, s.options(open)...)
	if err != nil {
		return nil, err
	}
	c.client = client
	c.smtp, err = client.DialToSMTPClientWithContext(ctx)
	if inTime := stop(); err == nil && inTime {
		return c, nil
	}
	if c.conn != nil { // the library leaves it open
		_ = c.conn.Close()
	}
	return nil, cmp.Or(err, ctx.Err())
}

// open connects to the server. Implicit TLS starts at once.
func (s *Sender) open(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: s.timeout}
	if s.settings.server.implicitTLS {
		return (&tls.Dialer{NetDialer: dialer, Config: s.tlsConfig()}).DialContext(ctx, network, address)
	}
	return dialer.DialContext(ctx, network, address)
}

func (s *Sender) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.settings.server.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
}

func (s *Sender) options(open mail.DialContextFunc) []mail.Option {
	to := s.settings.server
	port, _ := strconv.Atoi(to.port) // checked with the settings; 0 is refused by the library
	policy := mail.TLSMandatory
	switch {
	case to.implicitTLS:
		policy = mail.NoTLS // TLS starts before SMTP
	case to.cleartext:
		policy = mail.TLSOpportunistic
	}
	options := []mail.Option{
		mail.WithPort(port), mail.WithTimeout(s.timeout), mail.WithHELO(s.domain), mail.WithDialContextFunc(open),
		mail.WithTLSConfig(s.tlsConfig()), mail.WithTLSPolicy(policy), mail.WithoutNoop(), mail.WithoutRset(),
	}
	if to.user != "" {
		options = append(options, mail.WithSMTPAuthCustom(&plainOrLogin{server: to}))
	}
	return options
}

// plainOrLogin signs in by AUTH PLAIN, or by AUTH LOGIN if the server offers nothing else. Both send
// the password, and refuse a connection without TLS to another machine.
type plainOrLogin struct {
	wire.Auth
	server server
}

// Start begins the dialogue.
func (a *plainOrLogin) Start(info *wire.ServerInfo) (mechanism string, first []byte, err error) {
	a.Auth = wire.LoginAuth(a.server.user, a.server.password, a.server.host, a.server.cleartext)
	if slices.Contains(info.Auth, "PLAIN") {
		a.Auth = wire.PlainAuth("", a.server.user, a.server.password, a.server.host, a.server.cleartext)
	}
	return a.Auth.Start(info)
}

// alive reports whether the server still holds the connection.
func (c *session) alive(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	_ = c.conn.SetDeadline(time.Now().Add(aliveTimeout)) // if it fails, so does the command
	return c.smtp.Noop() == nil
}

// takesEveryLetter reports whether the server takes addresses that are not in ASCII (RFC 6531).
func (c *session) takesEveryLetter() bool {
	takes, _ := c.smtp.Extension("SMTPUTF8")
	return takes
}

// send sends one mail. If ctx ends first, it cuts the connection.
func (c *session) send(ctx context.Context, m *mail.Msg) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	return c.client.SendWithSMTPClient(c.smtp, m)
}

func (c *session) close() { _ = c.conn.Close() } // the server ends the session
