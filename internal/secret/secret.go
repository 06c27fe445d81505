// Package secret derives keys from HERALD_SECRET: one for each purpose, so that what is made
// for one is of no use for another.
package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"

	"herald/internal/environment"
)

// Purpose is what a key is for. A text never changes: what was made with its key would be
// void.
type Purpose string

// The purposes.
const (
	Tickets     Purpose = "herald tickets"
	fingerprint Purpose = "herald fingerprint"
)

// Key returns the key for a purpose, of 32 bytes, from HERALD_SECRET.
func Key(secret environment.Secret, purpose Purpose) []byte {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, string(purpose), sha256.Size)
	if err != nil { // only for keys of more than 8 KiB
		panic(err)
	}
	return key
}

// Fingerprint tells secrets apart, and tells nothing else of them.
func Fingerprint(secret environment.Secret) string {
	return hex.EncodeToString(Key(secret, fingerprint))
}
