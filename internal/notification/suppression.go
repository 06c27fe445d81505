package notification

import (
	"strings"
	"time"
)

// SuppressionReason is why an address gets nothing.
type SuppressionReason string

// The reasons of recipient_suppression.
const (
	SuppressedBounce    SuppressionReason = "BOUNCE"    // the mailbox does not exist
	SuppressedComplaint SuppressionReason = "COMPLAINT" // reported as spam
	SuppressedOptOut    SuppressionReason = "OPT_OUT"   // the number answered STOP
	SuppressedInvalid   SuppressionReason = "INVALID"   // no number, or none that gets messages
)

// SuppressionReasons are all of them.
func SuppressionReasons() []SuppressionReason {
	return []SuppressionReason{SuppressedBounce, SuppressedComplaint, SuppressedOptOut, SuppressedInvalid}
}

// Suppression is a reason why an address gets nothing over a channel.
type Suppression struct {
	Channel Channel
	Reason  SuppressionReason
	Detail  string // the provider's or an operator's words, without an address; may be empty
	Since   time.Time
}

// NormalAddress is the one spelling of an address by which it is known again: what a
// provider, an operator and the directory write may differ in case and in spaces.
func NormalAddress(channel Channel, address string) string {
	if normal := channel.row().normal; normal != nil {
		return normal(address)
	}
	return strings.TrimSpace(address)
}

func normalMail(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

// normalPhone is E.164: what people write between the digits is left out.
func normalPhone(number string) string {
	normal := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\u00a0-./()", r) {
			return -1
		}
		return r
	}, number)
	if digits, found := strings.CutPrefix(normal, "00"); found {
		return "+" + digits
	}
	return normal
}

// AddressKey is the hash of one secret, by which suppressed addresses are known.
type AddressKey struct {
	Fingerprint string // of the secret; empty: not recorded
	// Hash hashes an address as [NormalAddress] spells it. Nil: no secret.
	Hash func(address string) []byte
}

// OptOut is what somebody answered to a text message.
type OptOut struct {
	MessageID string // the provider's, of the answer: by it a repeat is known
	Number    string // whose it is, in E.164
	Lifted    bool   // true: messages are wanted again (START); false: no more of them (STOP)
}
