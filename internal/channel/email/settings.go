package email

import (
	"regexp"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds our account at SendGrid.
type Settings struct {
	APIKey   environment.Secret `env:"SENDGRID_API_KEY"` // empty: the channel is off
	BaseURL  string             `env:"SENDGRID_BASE_URL" envDefault:"https://api.sendgrid.com"`
	From     string             `env:"EMAIL_FROM"`      // address of a verified sender, in ASCII
	FromName string             `env:"EMAIL_FROM_NAME"` // ASCII, as SendGrid requires; may be empty
}

var asciiLine = regexp.MustCompile(`^[ -~]*$`)

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("SENDGRID_BASE_URL", s.BaseURL, s.APIKey != "")
	if s.APIKey != "" {
		r.Match("SENDGRID_API_KEY", string(s.APIKey), environment.Token, "must be visible ASCII, without spaces")
		r.Credential("SENDGRID_API_KEY", s.APIKey, s.BaseURL)
		r.Need("EMAIL_FROM", s.From, "SENDGRID_API_KEY")
	}
	if s.From != "" && (!isAddress(s.From) || !asciiLine.MatchString(s.From)) {
		r.Refuse("EMAIL_FROM", "must be a mail address in ASCII, without a name")
	}
	r.Match("EMAIL_FROM_NAME", s.FromName, asciiLine, "must be one line of ASCII")
}

// Servers returns SendGrid's address.
func (s *Settings) Servers() []string { return []string{s.BaseURL} }

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.APIKey == "" {
		return nil, channel.Off([2]string{"SENDGRID_API_KEY", string(s.APIKey)}, [2]string{"EMAIL_FROM", s.From})
	}
	return &Sender{settings: *s, timeout: p.Timeout, unsubscribeURL: p.UnsubscribeURL, wire: channel.NewTransport(p.Slots)}, nil
}
