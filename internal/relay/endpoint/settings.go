package endpoint

import (
	"herald/internal/channel/webhook"
	"herald/internal/config/environment"
)

// Settings holds the receiver's address and the secret that signs.
type Settings struct {
	URL    environment.Secret `env:"LIFECYCLE_WEBHOOK_URL"`    // may contain a token; empty: no receiver
	Secret environment.Secret `env:"LIFECYCLE_WEBHOOK_SECRET"` // whsec_ and base64
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	if s.URL == "" && s.Secret == "" {
		return
	}
	r.Need("LIFECYCLE_WEBHOOK_URL", string(s.URL), "LIFECYCLE_WEBHOOK_SECRET")
	r.Need("LIFECYCLE_WEBHOOK_SECRET", string(s.Secret), "LIFECYCLE_WEBHOOK_URL")
	r.ProviderURL("LIFECYCLE_WEBHOOK_URL", string(s.URL), false)
	r.Credential("LIFECYCLE_WEBHOOK_SECRET", s.Secret, string(s.URL))
	if _, err := webhook.NewKeys(s.Secret); err != nil {
		r.Refuse("LIFECYCLE_WEBHOOK_SECRET", err.Error())
	}
}
