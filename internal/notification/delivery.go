package notification

import (
	"time"
)

// Begin asks for attempts at deliveries.
type Begin struct {
	DeliveryIDs []string
	Owner       string        // of the leases: unique to this call
	Lease       time.Duration // longer than the attempts take
	Before      int           // attempts of earlier runs of the delivery
	First       bool          // only deliveries that are PENDING, were never attempted, and that no operator retries
	SkipQuiet   bool          // quiet hours are not asked
	Ordered     bool          // by an operator, who stands above preferences and groups
	Again       bool          // ordered in spite of another event that takes its event back
	Look        bool          // begin nothing: only the statuses are asked for
}

// Attempt is an attempt at a delivery that was begun and counted, with all that it
// takes to send. Without a Number nothing was begun, and only Status, ReceiptFailed,
// the verdict and LeasedFor are set.
type Attempt struct {
	Status        Status // empty: there is no such delivery
	ReceiptFailed bool   // FAILED is what a receipt says, which no attempt changes
	Verdict
	LeasedFor time.Duration // positive: another sender makes an attempt, and has so long for it

	Number  int    // of this attempt, over all runs of the delivery
	Owner   string // of its lease
	Counted int    // attempts before this one: the count that releasing it restores
	Tried
	Message Message
	Problem string // not empty: it has no text, for this reason
}

// Due reports whether a delivery still wants to be sent.
func (a Attempt) Due() bool { return a.Status == Pending || a.Status == Failed && !a.ReceiptFailed }

// Tried counts the attempts of one run of a delivery by how they ended.
type Tried struct {
	Begun    int           // this one included
	Ended    int           // those that the provider failed; rejections of our account and our own failures do not count
	Crashed  int           // those that were lost: their process died
	Rejected time.Duration // since the provider first rejected our account; 0: it did not
}

// AttemptOutcome is how an attempt ended.
type AttemptOutcome string

// The outcomes of delivery_attempt.
const (
	OutcomeSent      AttemptOutcome = "SENT"
	OutcomeRefused   AttemptOutcome = "REFUSED"
	OutcomeBusy      AttemptOutcome = "BUSY"
	OutcomeAccount   AttemptOutcome = "ACCOUNT"
	OutcomeAmbiguous AttemptOutcome = "AMBIGUOUS"
	OutcomeOff       AttemptOutcome = "NOT_CONFIGURED" // the worker has no settings for the channel
	OutcomeError     AttemptOutcome = "ERROR"          // not the provider's doing
	OutcomeLost      AttemptOutcome = "LOST"           // its process died; whoever finds the lease that ran out writes it down
)

// AttemptResult ends one attempt at a delivery, or at a digest.
type AttemptResult struct {
	DeliveryID     string        // of a delivery that was sent alone
	Number         int           // of the attempt at it
	Owner          string        `json:",omitempty"` // of its lease; release 0.2 had none
	DigestID       string        `json:",omitempty"`
	Items          []ItemAttempt `json:",omitempty"` // of the digest
	Outcome        AttemptOutcome
	ProviderStatus int    // HTTP status; 0: none
	ProviderID     string // the provider's id of the message; with OutcomeSent
	Detail         string // why it was not sent; never an address or a text
	DeadDevices    []string
	Took           time.Duration     `json:",omitempty"` // as [Answer] has it
	Suppress       SuppressionReason `json:",omitempty"` // as [ProviderError] has it
	GiveUp         bool              `json:",omitempty"` // it was not sent, and no attempt follows: the delivery is FAILED for the reason in Detail
	Next           time.Time         `json:",omitzero"`  // when the next attempt is due, of a delivery that leaves its batch
}

// RecordedAttempt is what recording the end of an attempt came to.
type RecordedAttempt struct {
	Status Status // of the delivery; empty: it is gone, or the result was of a digest
	// Age is how old the event is that was told of, by the database's clock; 0: not
	// sent, or delayed by the rules or by an operator's retry.
	Age time.Duration
	// Waited is the time since the delivery was planned, by the same clock, of a delivery that was
	// sent within a minute of that; 0: of another one.
	Waited time.Duration
	// DeadTokensKept says why dead device tokens could not be switched off; empty: they
	// were, or there were none.
	DeadTokensKept string
}

// Text is what a recipient reads.
type Text struct {
	Title string // one line, no markup
	Body  string // HTML where [Channel.HTML] says so, else plain text
}

// QuietCheck is what judging a delivery's quiet hours takes.
type QuietCheck struct {
	Action     QuietHoursAction
	Preference Preference
	Timezone   string
	Groups     []Setting // of the entities through which the recipient was told
}

// Silence is what quiet hours mean now, and whether to wait for their end; if
// they are not to be waited for, what comes in them is dropped.
func (c QuietCheck) Silence(now time.Time) (silence Silence, deferred bool) {
	silence = Quiet(c.Preference, c.Timezone, now, c.Groups...)
	return silence, Routing{QuietHoursAction: c.Action}.defers(silence)
}

// TurnsWanted asks for turns to send over a channel that has a rate limit.
type TurnsWanted struct {
	Channel Channel
	Rate    float64       // turns a second
	Most    int           // how many are of use, at least 1
	Ahead   time.Duration // how far from now a turn may be due; at most a minute
}

// Turns are turns that follow each other at the rate of their channel.
type Turns struct {
	Granted int
	Wait    time.Duration // until the first of them is due, or past it; if none was granted, until it is worth asking again
}
