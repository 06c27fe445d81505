package notification

import (
	"strings"
	"time"
	"unicode"
)

// SuppressionReason is the reason why an address gets nothing.
type SuppressionReason string

// The reasons of recipient_suppression.
const (
	SuppressedBounce    SuppressionReason = "BOUNCE"    // the mailbox does not exist
	SuppressedComplaint SuppressionReason = "COMPLAINT" // reported as spam
	SuppressedOptOut    SuppressionReason = "OPT_OUT"   // the number answered STOP
	SuppressedInvalid   SuppressionReason = "INVALID"   // not a number, or a number that cannot get messages
)

// SuppressionReasons returns every reason.
func SuppressionReasons() []SuppressionReason {
	return []SuppressionReason{SuppressedBounce, SuppressedComplaint, SuppressedOptOut, SuppressedInvalid}
}

// Suppression is a reason to send nothing to an address over a channel.
type Suppression struct {
	Channel Channel
	Reason  SuppressionReason
	Detail  string // from the provider or an operator, without an address; may be empty
	Since   time.Time
}

// TrimAddress removes the spaces around an address, and invisible characters.
func TrimAddress(address string) string {
	return strings.TrimFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// AddressKey hashes suppressed addresses with one secret.
type AddressKey struct {
	Fingerprint string // of the secret; empty: not recorded
	// Hash hashes an address in the spelling of address.Key. Nil: no secret.
	Hash func(address string) []byte
}

// OptOut is a person's answer to a text message.
type OptOut struct {
	MessageID string // the provider's id of the answer; identifies repeats
	Number    string // the sender's number, in E.164
	Lifted    bool   // true: the person wants messages again (START); false: no more (STOP)
}
