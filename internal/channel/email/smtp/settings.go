package smtp

import (
	"net"
	"net/url"
	"strings"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/config/environment"
)

// Settings names a mail server.
type Settings struct {
	URL environment.Secret `env:"SMTP_URL"` // smtps://user:password@host, or smtp://… for STARTTLS; empty: the provider is off

	email.From

	server server
}

// server is the mail server of SMTP_URL.
type server struct {
	host           string
	port           string
	implicitTLS    bool
	cleartext      bool // STARTTLS only if the server offers it
	user, password string
}

const form = "must be a URL such as smtps://user:password@host or smtp://host:587, with a user and a password or neither"

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.Check(r, s.URL != "", "SMTP_URL")
	if s.URL == "" {
		return
	}
	u, err := url.Parse(string(s.URL))
	if err != nil || u.Hostname() == "" || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Path+u.RawQuery+u.Fragment != "" {
		r.Refuse("SMTP_URL", form)
		return
	}
	s.server = server{host: u.Hostname(), port: u.Port(), implicitTLS: u.Scheme == "smtps", user: u.User.Username()}
	s.server.password, _ = u.User.Password()
	if (s.server.user == "") != (s.server.password == "") {
		r.Refuse("SMTP_URL", form)
	}
	switch {
	case s.server.port != "":
	case s.server.implicitTLS:
		s.server.port = "465"
	default:
		s.server.port = "587"
	}
	s.server.cleartext = !s.server.implicitTLS && (r.AllowCleartext || environment.IsLocal(s.server.host))
	r.UseProvider("SMTP_URL", s.server.host)
}

// Servers returns the address of the mail server, without the user and the password.
func (s *Settings) Servers() []string {
	scheme := "smtp://"
	if s.server.implicitTLS {
		scheme = "smtps://"
	}
	return []string{scheme + net.JoinHostPort(s.server.host, s.server.port)}
}

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.URL == "" {
		return nil, channel.Off([2]string{"SMTP_URL", string(s.URL)}, [2]string{"EMAIL_FROM", s.Address})
	}
	_, domain, _ := strings.Cut(s.Address, "@")
	return &Sender{settings: *s, domain: domain, timeout: p.Timeout, unsubscribeURL: p.UnsubscribeURL, idle: make(chan *session, p.Slots)}, nil
}
