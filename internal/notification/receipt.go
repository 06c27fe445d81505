package notification

import (
	"slices"
	"time"
)

// Provider is who takes messages and says what became of them.
type Provider string

// The providers whose receipts Herald knows.
const (
	SendGrid Provider = "sendgrid"
	Twilio   Provider = "twilio"
)

// Receipt is what a provider said about a message after it had accepted it.
type Receipt struct {
	Provider   Provider
	ID         string // by which a repeat is known
	DeliveryID string // or a digest's id: then it is about every item
	MessageID  string // the provider's, as [Answer] has it: which attempt it is about; empty: it named none
	At         time.Time
	Word       string // the provider's word for what happened: delivered, bounce, …
	Detail     string // the provider's reason, without an address; may be empty
	Address    string // that the message went to, as the provider names it: to be hashed, and not kept

	Status       Status            // Delivered or Failed; empty: it changes no status
	Suppress     SuppressionReason // the address is to get nothing more, for this reason; empty: it may
	Unsubscribes bool              // the recipient wants no more of the category, over the channel
}

// Concerns says whether the receipt is about the message that a delivery was last sent as,
// by the provider's ids: that of this message, which is empty until the attempt's end is
// recorded, and those of messages that retries came after. A receipt without an id is.
func (r Receipt) Concerns(message string, before []string) bool {
	if r.MessageID == "" || r.MessageID == message {
		return true
	}
	return message == "" && !slices.Contains(before, r.MessageID)
}

// RecordedReceipt is what recording a receipt came to.
type RecordedReceipt struct {
	Unknown  bool          // no delivery has that id: it is not kept
	Repeated bool          // it was recorded before
	Channel  Channel       // of the delivery
	Age      time.Duration // since the provider accepted the message; 0: not known
}

// FollowUp is what is still to be done about a delivery whose status a receipt, an
// acknowledgement or a reader has changed.
type FollowUp struct {
	ID         int64
	DeliveryID string
	Kind       FollowUpKind
}

// FollowUpKind is what is to be done.
type FollowUpKind string

// The kinds of delivery_follow_up.
const (
	FollowUpDeadLetter FollowUpKind = "DEAD_LETTER" // tell the queue of dead letters
	FollowUpEscalation FollowUpKind = "ESCALATION"  // have the workflow that waits look at it
)

// FollowUpState is how far behind a worker is with what follows receipts, acknowledgements
// and readers: with the rows of delivery_follow_up.
type FollowUpState struct {
	Pending       int           // counted up to a bound
	OldestPending time.Duration // age, by the database's clock; zero: nothing is pending
}
