package vonage

import (
	"regexp"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/config/environment"
)

// Settings holds our account at Vonage.
type Settings struct {
	Key     string             `env:"VONAGE_API_KEY"` // empty: the provider is off
	Secret  environment.Secret `env:"VONAGE_API_SECRET"`
	From    string             `env:"VONAGE_FROM"` // our number in E.164, or a name of up to 11 letters and digits
	BaseURL string             `env:"VONAGE_BASE_URL" envDefault:"https://rest.nexmo.com"`
}

var name = regexp.MustCompile(`^[a-zA-Z0-9]{1,11}$`)

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("VONAGE_BASE_URL", s.BaseURL, s.Key != "")
	if s.Key != "" {
		r.Match("VONAGE_API_KEY", s.Key, environment.Token, "must be visible ASCII, without spaces")
		r.Need("VONAGE_API_SECRET", string(s.Secret), "VONAGE_API_KEY")
		r.Need("VONAGE_FROM", s.From, "VONAGE_API_KEY")
	}
	if s.Secret != "" {
		r.Match("VONAGE_API_SECRET", string(s.Secret), environment.Token, "must be visible ASCII, without spaces")
		r.Credential("VONAGE_API_SECRET", s.Secret, s.BaseURL)
		r.Need("VONAGE_API_KEY", s.Key, "VONAGE_API_SECRET")
	}
	if s.From != "" && !sms.IsNumber(s.From) && !name.MatchString(s.From) {
		r.Refuse("VONAGE_FROM", "must be a phone number in E.164, such as +15005550006, or up to 11 letters and digits")
	}
}

// Servers returns Vonage's address.
func (s *Settings) Servers() []string { return []string{s.BaseURL} }

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.Key == "" {
		return nil,
			channel.Off([2]string{"VONAGE_API_KEY", s.Key}, [2]string{"VONAGE_API_SECRET", string(s.Secret)}, [2]string{"VONAGE_FROM", s.From})
	}
	return &Sender{settings: *s, publicURL: p.PublicURL, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
