package signin

import (
	"net/http"
	"time"
)

// NewVerifierFor does the same as NewVerifier, with a client that trusts a test server's
// certificate, and with another interval between fetches.
func NewVerifierFor(settings Settings, client *http.Client, every time.Duration) *Verifier {
	v := NewVerifier(settings)
	v.keys.client.Transport, v.keys.every = client.Transport, every
	return v
}
