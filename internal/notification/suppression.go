package notification

import "time"

// SuppressionReason is why an address gets nothing.
type SuppressionReason string

// The reasons of recipient_suppression.
const (
	SuppressedBounce    SuppressionReason = "BOUNCE"    // the mailbox does not exist
	SuppressedComplaint SuppressionReason = "COMPLAINT" // reported as spam
	SuppressedOptOut    SuppressionReason = "OPT_OUT"   // the number answered STOP
	SuppressedInvalid   SuppressionReason = "INVALID"   // no number, or none that gets messages
)

// Suppression is a reason why an address gets nothing over a channel.
type Suppression struct {
	Channel Channel
	Reason  SuppressionReason
	Detail  string // the provider's or an operator's words, without an address; may be empty
	Since   time.Time
}
