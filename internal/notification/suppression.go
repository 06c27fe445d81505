package notification

import (
	"strings"
	"time"
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

// NormalAddress returns the canonical spelling of an address. Providers, operators and the
// directory may differ in case and in spaces.
func NormalAddress(channel Channel, address string) string {
	if normal := channel.row().normal; normal != nil {
		return normal(address)
	}
	return strings.TrimSpace(address)
}

func normalMail(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

// normalPhone returns E.164 without the characters that people write between digits.
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

// AddressKey hashes suppressed addresses with one secret.
type AddressKey struct {
	Fingerprint string // of the secret; empty: not recorded
	// Hash hashes an address in the spelling of [NormalAddress]. Nil: no secret.
	Hash func(address string) []byte
}

// OptOut is a person's answer to a text message.
type OptOut struct {
	Provider  string    // such as twilio
	MessageID string    // the provider's id of the answer; identifies repeats
	At        time.Time // when the person sent it, as far as known; zero: now
	Number    string    // the sender's number, in E.164
	Lifted    bool      // true: the person wants messages again (START); false: no more (STOP)
}
