package environment

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Secret prints as *** in every format. string(s) returns the value.
type Secret string

const hidden = "***"

var (
	_ fmt.Formatter  = Secret("")
	_ slog.LogValuer = Secret("")
)

// String returns ***.
func (Secret) String() string { return hidden }

// Format writes *** for every verb.
func (Secret) Format(out fmt.State, _ rune) { _, _ = io.WriteString(out, hidden) }

// LogValue returns ***.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns ***, which encoding/json uses too.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// minSecret is the minimum length in bytes. RFC 7518 requires it for HS256.
const minSecret = 32

// published holds secrets that everybody can read in older files of Herald.
var published = []Secret{
	"of a sandbox that nobody else can reach",
	"signs tokens of a sandbox that nobody else can reach",
}

// SigningSecret refuses a secret that others can guess or read.
func (r *Reader) SigningSecret(key string, value Secret) {
	if len(value) < minSecret {
		r.Refuse(key, "must have 32 bytes or more: make it with `openssl rand -base64 32`")
	}
	r.Unpublished(key, value)
}

// Unpublished refuses a secret that Herald's files published.
func (r *Reader) Unpublished(key string, value Secret) {
	if slices.Contains(published, value) {
		r.Refuse(key, "is published in Herald's files: make a new one with `openssl rand -base64 32`")
	}
}

// PreviousSecret checks the secret that current replaces, if it is set. It verifies older
// signatures.
func (r *Reader) PreviousSecret(key string, previous, current Secret) {
	switch {
	case previous == "":
	case current == "":
		r.Refuse(key, "is set, but the current secret is not")
	case previous == current:
		r.Refuse(key, "equals the current secret: leave it empty, or set the previous secret")
	case len(previous) < minSecret:
		r.Refuse(key, "must have 32 bytes or more: it was a secret of Herald's")
	}
}

// sandboxCredentials are the keys, the token and the secret of webhooks for the sandbox in Herald's
// files.
var sandboxCredentials = []Secret{"sandbox", "whsec_c2FuZGJveC1zYW5kYm94LXNhbmRib3gt"}

// Credential refuses the sandbox's credential for other providers, because everybody knows it.
// The sandbox's URL never has https.
func (r *Reader) Credential(key string, value Secret, providerURL string) {
	if slices.Contains(sandboxCredentials, value) && strings.HasPrefix(providerURL, "https:") {
		r.Refuse(key, "is the sandbox's, but the provider is not: set the key of your account")
	}
}

// Keys checks the keys that verify a provider's signatures: the value of a setting, and the value of
// setting_PREVIOUS, which also counts while operators replace the key. It returns the keys that are set.
func (r *Reader) Keys(setting string, current, previous Secret, check func(setting string, key Secret)) []Secret {
	var keys []Secret
	if current != "" {
		check(setting, current)
		keys = append(keys, current)
	}
	if previous != "" {
		check(setting+"_PREVIOUS", previous)
		r.Need(setting, string(current), setting+"_PREVIOUS")
		keys = append(keys, previous)
	}
	return keys
}
