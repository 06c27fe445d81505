package notification

import (
	"slices"
	"time"
)

// Receipt is a provider's report about a message after accepting it.
type Receipt struct {
	Provider   string // such as twilio
	ID         string // identifies repeats
	DeliveryID string // or a digest's id: the receipt then covers every item
	MessageID  string // the provider's, as in [Answer]; identifies the attempt; empty: unknown
	At         time.Time
	Word       string // the provider's word for the event: delivered, bounce, …
	Detail     string // the provider's reason, without an address; may be empty
	Address    string `json:"-"` // the provider's spelling of the address; Herald hashes it and does not store it

	Status       Status            // Delivered or Failed; empty: the status does not change
	Suppress     SuppressionReason // why the address gets nothing more; empty: sending is allowed
	Harm         Harm              // what it says against the sender; empty: nothing
	Unsubscribes bool              // the recipient rejects the category over the channel
	Resubscribes bool              // the recipient takes back an earlier receipt that unsubscribes
}

// Concerns reports whether the receipt belongs to a delivery's latest message. message is the
// provider's id of that message, empty until the attempt's end is recorded. before holds the
// ids of older messages. A receipt without an id always belongs.
func (r Receipt) Concerns(message string, before []string) bool {
	if r.MessageID == "" || r.MessageID == message {
		return true
	}
	return message == "" && !slices.Contains(before, r.MessageID)
}

// RecordedReceipt is the effect of recording a receipt.
type RecordedReceipt struct {
	Unknown  bool          // no delivery has the id, so the receipt is not stored
	Repeated bool          // the receipt was recorded before
	Channel  Channel       // of the delivery
	Age      time.Duration // since the provider accepted the message; 0: not known
}

// FollowUp is remaining work on a delivery that a receipt, an acknowledgement, a reader or a newer
// event has changed.
type FollowUp struct {
	ID         int64
	DeliveryID string
	Kind       FollowUpKind
}

// FollowUpKind is the kind of remaining work.
type FollowUpKind string

// The kinds of delivery_follow_up.
const (
	FollowUpDeadLetter FollowUpKind = "DEAD_LETTER" // publish a dead letter
	FollowUpEscalation FollowUpKind = "ESCALATION"  // wake the workflow that waits for the escalation
	FollowUpReplaced   FollowUpKind = "REPLACED"    // cancel the workflow of the delivery
)

// FollowUpState is a worker's backlog of follow-ups, the rows of delivery_follow_up.
type FollowUpState struct {
	Pending       int           // counted up to a bound
	OldestPending time.Duration // age, by the database's clock; zero: nothing is pending
}
