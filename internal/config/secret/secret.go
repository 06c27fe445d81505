// Package secret derives a separate key from HERALD_SECRET for each purpose. A signature or hash
// for one purpose is invalid for another.
package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Purpose is the use of a key. Never change a purpose's text: all links, tickets and hashes made
// with its key would become invalid.
type Purpose string

// Purposes of keys.
const (
	Tickets      Purpose = "herald tickets"
	InboxCodes   Purpose = "herald inbox codes"
	Unsubscribe  Purpose = "herald unsubscribe"
	ConsoleForms Purpose = "herald console forms"
	addresses    Purpose = "herald addresses"
	fingerprint  Purpose = "herald fingerprint"
)

// Key derives the key for a purpose, 32 bytes, from HERALD_SECRET.
func Key(secret environment.Secret, purpose Purpose) []byte {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, string(purpose), sha256.Size)
	if err != nil { // only for keys of more than 8 KiB
		panic(err)
	}
	return key
}

// PreviousKey does the same as [Key] for HERALD_SECRET_PREVIOUS. It returns nil without a secret.
func PreviousKey(secret environment.Secret, purpose Purpose) []byte {
	if secret == "" {
		return nil
	}
	return Key(secret, purpose)
}

// AddressHash returns the function that hashes addresses, so that Herald can recognize an address
// without storing it. It returns nil without a secret: then no address can be recognized.
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

// Address returns the key that hashes addresses for the database; zero without a secret.
func Address(secret environment.Secret) notification.AddressKey {
	return notification.AddressKey{Fingerprint: Fingerprint(secret), Hash: AddressHash(secret)}
}

// Fingerprint returns a text that differs between secrets and reveals nothing else; empty without
// a secret.
func Fingerprint(secret environment.Secret) string {
	if secret == "" {
		return ""
	}
	return hex.EncodeToString(Key(secret, fingerprint))
}
