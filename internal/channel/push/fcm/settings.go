package fcm

import (
	"net/url"
	"strings"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds our project at Firebase.
type Settings struct {
	ProjectID string `env:"FCM_PROJECT_ID"`                                          // empty: the channel is off
	BaseURL   string `env:"FCM_BASE_URL" envDefault:"https://fcm.googleapis.com/v1"` // with the version
	// key of a service account; required at Google's own BaseURL
	CredentialsFile string `env:"GOOGLE_APPLICATION_CREDENTIALS"`
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("FCM_BASE_URL", s.BaseURL, s.ProjectID != "")
	if s.ProjectID == "" { // other Google programs use GOOGLE_APPLICATION_CREDENTIALS too
		return
	}
	r.Match("FCM_PROJECT_ID", s.ProjectID, environment.Name, "must be a project's id")
	if s.atGoogle() {
		r.Need("GOOGLE_APPLICATION_CREDENTIALS", s.CredentialsFile, "FCM_PROJECT_ID")
	}
}

// atGoogle reports whether messages go to Google's own service, which requires credentials.
func (s *Settings) atGoogle() bool {
	base, err := url.Parse(s.BaseURL)
	return err == nil && strings.HasSuffix(base.Hostname(), "googleapis.com")
}

// Servers returns FCM's address.
func (s *Settings) Servers() []string { return []string{s.endpoint()} }

// NewSender returns the sender, a [channel.OffError], or another error if the credentials are
// unreadable. It makes no connection.
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.ProjectID == "" {
		needed := [][2]string{{"FCM_PROJECT_ID", s.ProjectID}}
		if s.atGoogle() {
			needed = append(needed, [2]string{"GOOGLE_APPLICATION_CREDENTIALS", s.CredentialsFile})
		}
		return nil, channel.Off(needed...)
	}
	tokens, err := newTokens(s.CredentialsFile)
	if err != nil {
		return nil, err
	}
	return &Sender{project: s.ProjectID, endpoint: s.endpoint(), tokens: tokens, timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}

// endpoint returns the BaseURL. Without a path, it adds the version.
func (s *Settings) endpoint() string {
	if base, err := url.Parse(s.BaseURL); err == nil && base.Path == "" {
		return s.BaseURL + "/v1"
	}
	return s.BaseURL
}
