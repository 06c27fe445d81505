package slack

import (
	"net/url"

	"herald/internal/channel"
	"herald/internal/environment"
)

// Settings are what the sender must know. The channel is always on, since each
// recipient's webhook holds its own secret.
type Settings struct {
	AllowedHosts []string `env:"SLACK_ALLOWED_HOSTS" envDefault:"hooks.slack.com"` // that a webhook may be at, as host or host:port, in lower case; plain http only to loopback
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.AllowedHosts = r.ProviderHosts("SLACK_ALLOWED_HOSTS", s.AllowedHosts)
}

// Servers returns the hosts that a webhook may be at. Only this machine's is asked without TLS.
func (s *Settings) Servers() []string {
	var urls []string
	for _, host := range s.AllowedHosts {
		scheme := "https://"
		if u, err := url.Parse("//" + host); err == nil && environment.IsLocal(u.Hostname()) {
			scheme = "http://"
		}
		urls = append(urls, scheme+host)
	}
	return urls
}

// Flaw says why no message would be posted to a webhook; empty: it would.
func (s *Settings) Flaw(webhook string) string { return flaw(webhook, s.AllowedHosts) }

// NewSender returns the sender.
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{hosts: s.AllowedHosts, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
