package signin

import (
	"net/http"
	"time"
)

// NewVerifierFor is NewVerifier with the client of a test's server, whose certificate no
// other knows, and with another interval between fetches.
func NewVerifierFor(settings Settings, client *http.Client, every time.Duration) *Verifier {
	v := NewVerifier(settings)
	v.keys.client.Transport, v.keys.every = client.Transport, every
	return v
}
