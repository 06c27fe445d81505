package slack

import (
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

// NewSender returns the sender.
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{hosts: s.AllowedHosts, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
