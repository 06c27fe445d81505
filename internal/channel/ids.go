package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FitID fits a delivery id into a provider's field of limit bytes. A longer id becomes the hex of
// its SHA-256, which has 64 bytes.
func FitID(deliveryID string, limit int) string {
	if len(deliveryID) <= limit {
		return deliveryID
	}
	sum := sha256.Sum256([]byte(deliveryID))
	return hex.EncodeToString(sum[:])
}

// providerIDLimit is in bytes; real ids are far shorter.
const providerIDLimit = 256

// ProviderID returns a provider's message id, or "" if it cannot be stored: it is too long, or
// has characters outside visible ASCII.
func ProviderID(id string) string {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(id) > providerIDLimit || strings.ContainsFunc(id, invisible) {
		return ""
	}
	return id
}
