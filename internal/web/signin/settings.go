package signin

import (
	"net/url"

	"herald/internal/config/environment"
)

// Settings determines which tokens are valid. Exactly one of HS256Secret and JWKSURL is set. It
// fixes the permitted algorithms; a token cannot change them.
type Settings struct {
	Issuer        string             `env:"AUTH_ISSUER,required,notEmpty"`   // required value of `iss`
	Audience      string             `env:"AUTH_AUDIENCE,required,notEmpty"` // `aud` must be or contain this value
	HS256Secret   environment.Secret `env:"AUTH_HS256_SECRET"`               // 32 bytes or more; shared with the signer
	HS256Previous environment.Secret `env:"AUTH_HS256_SECRET_PREVIOUS"`      // also valid while operators replace the secret
	JWKSURL       string             `env:"AUTH_JWKS_URL"`                   // https; its keys verify RS256 and ES256
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	switch {
	case s.HS256Secret != "" && s.JWKSURL != "":
		r.Refuse("AUTH_HS256_SECRET", "and AUTH_JWKS_URL are both set: set only one of them")
	case s.JWKSURL != "":
		s.checkURL(r)
	case s.HS256Secret == "":
		r.Refuse("AUTH_HS256_SECRET", "is not set, and neither is AUTH_JWKS_URL: set one of them")
	default:
		r.SigningSecret("AUTH_HS256_SECRET", s.HS256Secret)
	}
	if s.HS256Previous != "" {
		r.PreviousSecret("AUTH_HS256_SECRET_PREVIOUS", s.HS256Previous, s.HS256Secret)
		r.Unpublished("AUTH_HS256_SECRET_PREVIOUS", s.HS256Previous)
	}
}

// checkURL permits a query, because some issuers need one.
func (s *Settings) checkURL(r *environment.Reader) {
	u, err := url.Parse(s.JWKSURL)
	if err != nil || u.Scheme != "https" || !environment.IsHost(u.Host) || u.User != nil || u.Fragment != "" {
		r.Refuse("AUTH_JWKS_URL",
			"must be a URL such as https://issuer.example.com/jwks.json, which is always https, also on this machine and with ALLOW_CLEARTEXT")
	}
}
