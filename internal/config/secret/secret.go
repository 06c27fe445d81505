// Package secret derives keys from HERALD_SECRET: one for each purpose, so that what is made
// for one is of no use for another.
package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Purpose is the use of a key. A text never changes: what was made with its key would be
// void.
type Purpose string

// The purposes.
const (
	Tickets     Purpose = "herald tickets"
	InboxCodes  Purpose = "herald inbox codes"
	Unsubscribe Purpose = "herald unsubscribe"
	addresses   Purpose = "herald addresses"
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

// PreviousKey is [Key] for HERALD_SECRET_PREVIOUS: nil where there is none.
func PreviousKey(secret environment.Secret, purpose Purpose) []byte {
	if secret == "" {
		return nil
	}
	return Key(secret, purpose)
}

// AddressHash returns the function by which addresses are known without being kept. It is
// nil without a secret: then no address can be known.
func AddressHash(secret environment.Secret) func(address string) []byte {
	if secret == "" {
		return nil
	}
	key := Key(secret, addresses)
	return func(address string) []byte {
		hash := hmac.New(sha256.New, key)
		_, _ = hash.Write([]byte(address)) // it never fails
		return hash.Sum(nil)
	}
}

// Address returns the key by which the database knows addresses. It is zero without a secret.
func Address(secret environment.Secret) notification.AddressKey {
	return notification.AddressKey{Fingerprint: Fingerprint(secret), Hash: AddressHash(secret)}
}

// Fingerprint tells secrets apart, and tells nothing else of them. Without a secret it is empty.
func Fingerprint(secret environment.Secret) string {
	if secret == "" {
		return ""
	}
	return hex.EncodeToString(Key(secret, fingerprint))
}
