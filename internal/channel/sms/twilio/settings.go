package twilio

import (
	"errors"
	"net/url"
	"regexp"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/config/environment"
)

// Settings holds our account at Twilio.
type Settings struct {
	AccountSID string             `env:"TWILIO_ACCOUNT_SID"` // empty: the channel is off
	AuthToken  environment.Secret `env:"TWILIO_AUTH_TOKEN"`
	From       string             `env:"TWILIO_FROM"` // our number, in E.164
	BaseURL    string             `env:"TWILIO_BASE_URL" envDefault:"https://api.twilio.com"`
}

// alphanumeric is the form of credentials that the SDK accepts.
var alphanumeric = regexp.MustCompile(`^[a-zA-Z0-9]+$`)

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("TWILIO_BASE_URL", s.BaseURL, s.AccountSID != "")
	if s.AccountSID != "" {
		r.Match("TWILIO_ACCOUNT_SID", s.AccountSID, alphanumeric, "must be an account's SID")
		r.Need("TWILIO_AUTH_TOKEN", string(s.AuthToken), "TWILIO_ACCOUNT_SID")
		r.Need("TWILIO_FROM", s.From, "TWILIO_ACCOUNT_SID")
	}
	if s.AuthToken != "" {
		checkToken(r, "TWILIO_AUTH_TOKEN", s.AuthToken, s.BaseURL)
		r.Need("TWILIO_ACCOUNT_SID", s.AccountSID, "TWILIO_AUTH_TOKEN")
	}
	if s.From != "" && !sms.IsNumber(s.From) {
		r.Refuse("TWILIO_FROM", "must be a phone number in E.164, such as +15005550006")
	}
}

func checkToken(r *environment.Reader, setting string, token environment.Secret, baseURL string) {
	r.Match(setting, string(token), alphanumeric, "must be letters and digits")
	r.Credential(setting, token, baseURL)
}

// Servers returns Twilio's address.
func (s *Settings) Servers() []string { return []string{s.BaseURL} }

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.AccountSID == "" {
		return nil, channel.Off([2]string{"TWILIO_ACCOUNT_SID", s.AccountSID}, [2]string{"TWILIO_AUTH_TOKEN", string(s.AuthToken)},
			[2]string{"TWILIO_FROM", s.From})
	}
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return nil, errors.New("TWILIO_BASE_URL is no URL") // err would quote the URL
	}
	return &Sender{settings: *s, base: base, publicURL: p.PublicURL, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
