package slack

import (
	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds the allowed hosts. The channel is always on, because each recipient's webhook
// contains its own secret.
type Settings struct {
	// allowed webhook hosts: host or host:port, in lower case; plain http only to loopback
	AllowedHosts []string `env:"SLACK_ALLOWED_HOSTS" envDefault:"hooks.slack.com"`
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.AllowedHosts = r.ProviderHosts("SLACK_ALLOWED_HOSTS", s.AllowedHosts)
}

func (s *Settings) rules() channel.WebhookRules {
	return channel.WebhookRules{Hosts: s.AllowedHosts, Setting: "SLACK_ALLOWED_HOSTS"}
}

// Servers returns the allowed webhook hosts.
func (s *Settings) Servers() []string { return s.rules().Servers() }

// Flaw returns why a webhook gets no messages; empty: it gets them.
func (s *Settings) Flaw(webhook string) string { return s.rules().Flaw(webhook) }

// NewSender returns the sender.
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{rules: s.rules(), timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
