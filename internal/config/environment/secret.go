package environment

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Secret prints as *** in every way; string(s) is the value.
type Secret string

const hidden = "***"

var (
	_ fmt.Formatter  = Secret("")
	_ slog.LogValuer = Secret("")
)

// String returns ***.
func (Secret) String() string { return hidden }

// Format writes *** whatever the verb is.
func (Secret) Format(out fmt.State, _ rune) { _, _ = io.WriteString(out, hidden) }

// LogValue returns ***.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns ***, in JSON as well.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// minSecret is the length of SHA-256's keys: RFC 7518 demands it for HS256.
const minSecret = 32

// published holds secrets that stood in Herald's files, where everybody can read them.
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

// Unpublished refuses a secret that stood in Herald's files.
func (r *Reader) Unpublished(key string, value Secret) {
	if slices.Contains(published, value) {
		r.Refuse(key, "is published in Herald's files: make a new one with `openssl rand -base64 32`")
	}
}

// PreviousSecret checks the secret that current replaces, if there is one: it verifies what
// was signed before.
func (r *Reader) PreviousSecret(key string, previous, current Secret) {
	switch {
	case previous == "":
	case current == "":
		r.Refuse(key, "is set, but the present secret is not")
	case previous == current:
		r.Refuse(key, "is the present secret: leave it empty, or set the one before")
	case len(previous) < minSecret:
		r.Refuse(key, "must have 32 bytes or more: it was a secret of Herald's")
	}
}

// sandboxCredential is the key and the token that Herald's files give to the sandbox.
const sandboxCredential = "sandbox"

// Credential refuses the sandbox's credential for a provider that is not the sandbox:
// everybody knows it. The sandbox is never behind https.
func (r *Reader) Credential(key string, value Secret, providerURL string) {
	if value == sandboxCredential && strings.HasPrefix(providerURL, "https:") {
		r.Refuse(key, "is the sandbox's, but the provider is not: set the key of your account")
	}
}
