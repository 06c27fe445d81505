package signin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"herald/internal/notification"
)

const (
	// leeway is the accepted difference between the clocks of issuer and gateway.
	leeway = 10 * time.Second
	// longest is the maximum lifetime that Verify returns. Later steps could not store a time in
	// the far future.
	longest = 366 * 24 * time.Hour
	// maxUserID is the maximum length of a user id in the directory, in bytes.
	maxUserID = 64
)

// Verifier verifies tokens.
type Verifier struct {
	parser  *jwt.Parser
	methods []string               // the permitted algorithms
	secrets jwt.VerificationKeySet // for HS256
	keys    *keySet                // nil if secrets verify the tokens
}

// NewVerifier returns a verifier with these settings.
func NewVerifier(settings Settings) *Verifier {
	v := &Verifier{}
	if settings.JWKSURL == "" {
		v.methods = []string{jwt.SigningMethodHS256.Name}
		v.secrets.Keys = append(v.secrets.Keys, []byte(settings.HS256Secret))
		if settings.HS256Previous != "" {
			v.secrets.Keys = append(v.secrets.Keys, []byte(settings.HS256Previous))
		}
	} else {
		v.keys, v.methods = newKeySet(settings.JWKSURL), []string{jwt.SigningMethodRS256.Name, jwt.SigningMethodES256.Name}
	}
	v.parser = newParser(settings, v.methods)
	return v
}

func newParser(settings Settings, methods []string) *jwt.Parser {
	return jwt.NewParser(
		jwt.WithValidMethods(methods),
		jwt.WithIssuer(settings.Issuer),
		jwt.WithAudience(settings.Audience),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(leeway),
		jwt.WithStrictDecoding(),
	)
}

// claims holds the claims of a token. `sub` is the user id.
type claims struct {
	jwt.RegisteredClaims

	UserType notification.UserType `json:"user_type"`
}

// Verify returns the user in a token, or a [*Refusal]. It does not check that the recipient
// exists.
func (v *Verifier) Verify(token string) (Identity, error) {
	var said claims
	if parsed, err := v.parser.ParseWithClaims(token, &said, v.key); err != nil {
		return Identity{}, &Refusal{v.reason(parsed, err)}
	}
	if !said.UserType.WellFormed() || !isUserID(said.Subject) {
		return Identity{}, &Refusal{Malformed}
	}
	expires := said.ExpiresAt.Time
	if limit := time.Now().Add(longest); expires.After(limit) {
		expires = limit
	}
	return Identity{notification.RecipientKey{UserType: said.UserType, UserID: said.Subject}, expires}, nil
}

// Run updates the keys from AUTH_JWKS_URL until ctx ends.
func (v *Verifier) Run(ctx context.Context) {
	if v.keys != nil {
		v.keys.run(ctx)
	}
}

// Ready returns nil if tokens can be verified.
func (v *Verifier) Ready(context.Context) error {
	if v.keys != nil {
		return v.keys.ready()
	}
	return nil
}

var (
	errUnknownKey = errors.New("no such key")
	errCritical   = errors.New("the token has headers that must be understood")
)

// key returns the key or keys that verify a token's signature. The parser has already refused
// algorithms that the settings do not permit.
func (v *Verifier) key(token *jwt.Token) (any, error) {
	if _, critical := token.Header["crit"]; critical { // RFC 7515: refuse critical headers that are not understood
		return nil, errCritical
	}
	if v.keys == nil {
		return v.secrets, nil
	}
	id, _ := token.Header["kid"].(string)
	key, ok := v.keys.find(token.Method.Alg(), id)
	if !ok {
		return nil, errUnknownKey
	}
	return key, nil
}

// reasons is in the order of a token's checks.
var reasons = []struct {
	err    error
	reason Reason
}{
	{errCritical, Malformed},
	{errUnknownKey, UnknownKey},
	{jwt.ErrTokenSignatureInvalid, BadSignature},
	{jwt.ErrTokenExpired, Expired},
	{jwt.ErrTokenNotValidYet, NotYet},
	{jwt.ErrTokenInvalidAudience, BadAudience},
	{jwt.ErrTokenInvalidIssuer, BadIssuer},
}

func (v *Verifier) reason(token *jwt.Token, err error) Reason {
	if token != nil && token.Method != nil && !slices.Contains(v.methods, token.Method.Alg()) {
		return BadAlgorithm
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return Malformed
}

// isUserID reports whether text is valid as a user id in the directory.
func isUserID(text string) bool {
	return text != "" && len(text) <= maxUserID && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
