package sendgrid

import (
	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/config/environment"
)

// Settings holds our account at SendGrid.
type Settings struct {
	APIKey  environment.Secret `env:"SENDGRID_API_KEY"` // empty: the provider is off
	BaseURL string             `env:"SENDGRID_BASE_URL" envDefault:"https://api.sendgrid.com"`

	email.From
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("SENDGRID_BASE_URL", s.BaseURL, s.APIKey != "")
	if s.APIKey != "" {
		r.Match("SENDGRID_API_KEY", string(s.APIKey), environment.Token, "must be visible ASCII, without spaces")
		r.Credential("SENDGRID_API_KEY", s.APIKey, s.BaseURL)
	}
	s.Check(r, s.APIKey != "", "SENDGRID_API_KEY")
}

// Servers returns SendGrid's address.
func (s *Settings) Servers() []string { return []string{s.BaseURL} }

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.APIKey == "" {
		return nil, channel.Off([2]string{"SENDGRID_API_KEY", string(s.APIKey)}, [2]string{"EMAIL_FROM", s.Address})
	}
	return &Sender{settings: *s, timeout: p.Timeout, unsubscribeURL: p.UnsubscribeURL, wire: channel.NewTransport(p.Slots)}, nil
}
