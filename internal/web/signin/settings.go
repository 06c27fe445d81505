package signin

import (
	"net/url"

	"herald/internal/config/environment"
)

// Settings say whose tokens count. Exactly one of HS256Secret and JWKSURL is set, and it
// alone fixes the algorithms: no token does.
type Settings struct {
	Issuer        string             `env:"AUTH_ISSUER,required,notEmpty"`   // what `iss` must be
	Audience      string             `env:"AUTH_AUDIENCE,required,notEmpty"` // what `aud` must be, or hold
	HS256Secret   environment.Secret `env:"AUTH_HS256_SECRET"`               // 32 bytes or more; shared with the signer
	HS256Previous environment.Secret `env:"AUTH_HS256_SECRET_PREVIOUS"`      // its tokens count too, while the secret is replaced
	JWKSURL       string             `env:"AUTH_JWKS_URL"`                   // https; its keys check RS256 and ES256
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	switch {
	case s.HS256Secret != "" && s.JWKSURL != "":
		r.Refuse("AUTH_HS256_SECRET", "and AUTH_JWKS_URL are both set: one of them says whose tokens count")
	case s.JWKSURL != "":
		s.checkURL(r)
	case s.HS256Secret == "":
		r.Refuse("AUTH_HS256_SECRET", "is not set, and neither is AUTH_JWKS_URL: one of them says whose tokens count")
	default:
		r.SigningSecret("AUTH_HS256_SECRET", s.HS256Secret)
	}
	if s.HS256Previous != "" {
		r.PreviousSecret("AUTH_HS256_SECRET_PREVIOUS", s.HS256Previous, s.HS256Secret)
		r.Unpublished("AUTH_HS256_SECRET_PREVIOUS", s.HS256Previous)
	}
}

// checkURL allows a query, which some issuers have there.
func (s *Settings) checkURL(r *environment.Reader) {
	u, err := url.Parse(s.JWKSURL)
	if err != nil || u.Scheme != "https" || !environment.IsHost(u.Host) || u.User != nil || u.Fragment != "" {
		r.Refuse("AUTH_JWKS_URL", "must be a URL such as https://issuer.example.com/jwks.json, which is always https, also on this machine and with ALLOW_CLEARTEXT")
	}
}
