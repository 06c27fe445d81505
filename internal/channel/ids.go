package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FitID returns a delivery id for a provider's field of at most limit bytes: the
// id itself, or if it is longer, the hex of its SHA-256, which has 64 bytes.
func FitID(deliveryID string, limit int) string {
	if len(deliveryID) <= limit {
		return deliveryID
	}
	sum := sha256.Sum256([]byte(deliveryID))
	return hex.EncodeToString(sum[:])
}

// providerIDLimit is in bytes; every provider's ids are far shorter.
const providerIDLimit = 256

// ProviderID returns the id that a provider gave to a message, or "" if it cannot
// be stored: it is too long, or has other characters than visible ASCII.
func ProviderID(id string) string {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(id) > providerIDLimit || strings.ContainsFunc(id, invisible) {
		return ""
	}
	return id
}
