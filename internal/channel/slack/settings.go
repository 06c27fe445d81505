package slack

import (
	"net/url"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds the allowed hosts. The channel is always on, because each recipient's webhook
// contains its own secret.
type Settings struct {
	AllowedHosts []string `env:"SLACK_ALLOWED_HOSTS" envDefault:"hooks.slack.com"` // allowed webhook hosts: host or host:port, in lower case; plain http only to loopback
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.AllowedHosts = r.ProviderHosts("SLACK_ALLOWED_HOSTS", s.AllowedHosts)
}

// Servers returns the allowed webhook hosts. Only hosts on this machine get plain http.
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

// Flaw returns why a webhook gets no messages; empty: it gets them.
func (s *Settings) Flaw(webhook string) string { return flaw(webhook, s.AllowedHosts) }

// NewSender returns the sender.
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{hosts: s.AllowedHosts, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
