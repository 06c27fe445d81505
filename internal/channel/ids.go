package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FitID returns a delivery id for a field of a provider that holds at most
// limit bytes: the id itself, or where it is longer the hex of its SHA-256,
// which is 64 bytes long.
func FitID(deliveryID string, limit int) string {
	if len(deliveryID) <= limit {
		return deliveryID
	}
	sum := sha256.Sum256([]byte(deliveryID))
	return hex.EncodeToString(sum[:])
}

// providerIDLimit is in bytes; every provider's ids are far shorter.
const providerIDLimit = 256

// ProviderID returns the id that a provider gave to a message, or "" where it
// is none that can be stored: too long, or with more in it than visible ASCII.
func ProviderID(id string) string {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(id) > providerIDLimit || strings.ContainsFunc(id, invisible) {
		return ""
	}
	return id
}
