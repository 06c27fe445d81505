package notification

import (
	"time"
)

// Begin is a request to begin attempts at deliveries.
type Begin struct {
	DeliveryIDs []string
	DigestID    string        // the digest that sends the deliveries as one message; empty: each is a message
	Owner       string        // owns the leases; unique to this call
	Lease       time.Duration // longer than the attempts take
	Outage      time.Duration // time from the first attempt that an outage ended, during which such attempts do not count
	Before      int           // attempts of earlier runs of the delivery
	First       bool          // only deliveries that are PENDING, never attempted, and not retried by an operator
	SkipQuiet   bool          // ignores quiet hours: an operator sends the digest now
	Ordered     bool          // an operator ordered the attempt, which overrides preferences and groups
	Again       bool          // the order also overrides [AttemptCheck].Withdrawn
	StatusOnly  bool          // begins nothing and returns the statuses only
}

// Attempt is an attempt that was begun and counted, with everything needed to send it. If Number
// is 0, nothing was begun, and only Status, ReceiptFailed, SentBy, the
// verdict, InDigest and LeasedFor are set.
type Attempt struct {
	Status        Status // empty: the delivery does not exist
	ReceiptFailed bool   // a receipt reported FAILED, which no attempt changes
	SentBy               // by an earlier attempt
	Verdict
	InDigest  bool          // its digest sends it
	LeasedFor time.Duration // positive: another sender holds the lease for this long

	Number  int    // counts over all runs of the delivery; 0: no attempt was begun
	Owner   string // of the lease
	Counted int    // attempts before this one; a release restores this count
	Tried
	Message Message
	Problem string // why the message has no text; empty: it has one
}

// Due reports whether the delivery still has to be sent.
func (a Attempt) Due() bool { return a.Status == Pending || a.Status == Failed && !a.ReceiptFailed }

// WasBegun reports whether the attempt was begun, and holds the lease.
func (a Attempt) WasBegun() bool { return a.Number > 0 }

// Tried counts the attempts of one run of a delivery by their ends.
type Tried struct {
	Begun    int           // includes this attempt
	Ended    int           // failed at the provider; outages, rejections of our account and our own failures do not count
	Crashed  int           // lost, because their process died
	Rejected time.Duration // time since the provider first rejected our account; 0: it did not
	Outage   time.Duration // time since a provider was first busy or out of reach; 0: it was not
	Tied     int           // since the first end that was not clear: the provider may have the message
	TiedFor  time.Duration // time since then
}

// AttemptOutcome is how an attempt ended.
type AttemptOutcome string

// The outcomes of delivery_attempt.
const (
	OutcomeSent        AttemptOutcome = "SENT"
	OutcomeRefused     AttemptOutcome = "REFUSED"
	OutcomeBusy        AttemptOutcome = "BUSY"
	OutcomeUnreachable AttemptOutcome = "UNREACHABLE"
	OutcomeUnavailable AttemptOutcome = "UNAVAILABLE"
	OutcomeAccount     AttemptOutcome = "ACCOUNT"
	OutcomeAmbiguous   AttemptOutcome = "AMBIGUOUS"
	OutcomeOff         AttemptOutcome = "NOT_CONFIGURED" // the worker has no settings for the channel
	OutcomeError       AttemptOutcome = "ERROR"          // the provider did not cause it
	OutcomeLost        AttemptOutcome = "LOST"           // its process died; the sender that finds the expired lease records it
)

// AttemptResult is the end of one attempt at a delivery or a digest.
type AttemptResult struct {
	DeliveryID     string        // set for a delivery that was sent alone
	Number         int           // of the attempt
	Owner          string        `json:",omitempty"` // of the lease
	DigestID       string        `json:",omitempty"`
	Items          []ItemAttempt `json:",omitempty"` // of the digest
	Outcome        AttemptOutcome
	ProviderStatus int    // HTTP status; 0: none
	Provider       string `json:",omitempty"` // as in [Answer]
	// Sender is as in [Answer]. Histories leave it out, because it is an address. So the attempt counts for no
	// sender if a crash kept it from being recorded.
	Sender      string `json:"-"`
	ProviderID  string // the provider's message id; only with OutcomeSent
	Detail      string // why it was not sent; never contains an address or a text
	DeadDevices []string
	Took        time.Duration     `json:",omitempty"` // as in [Answer]
	Suppress    SuppressionReason `json:",omitempty"` // as in [ProviderError]
	GiveUp      bool              `json:",omitempty"` // no attempt follows: the delivery becomes FAILED with the reason in Detail
	Next        time.Time         `json:",omitzero"`  // when the next attempt is due, after a temporary failure; zero: unknown
}

// SentBy names the provider that took a message, and the provider's id of the message. It is empty if
// the message was not sent, or if the provider returns no ids.
type SentBy struct {
	Provider          string `json:",omitempty"` // as in [Answer]
	ProviderMessageID string `json:",omitempty"`
}

// SentBy returns who took the message of the attempt.
func (r AttemptResult) SentBy() SentBy {
	if r.Outcome != OutcomeSent {
		return SentBy{}
	}
	return SentBy{Provider: r.Provider, ProviderMessageID: r.ProviderID}
}

// RecordedAttempt is the effect of recording an attempt's end.
type RecordedAttempt struct {
	Status Status // of the delivery; empty: the delivery is gone, or the result belongs to a digest
	// Age is the event's age by the database's clock. 0: not sent, or delayed by the rules or by
	// an operator's retry.
	Age time.Duration
	// Waited is the time since planning, by the same clock. 0: the delivery was not sent within a
	// minute of planning.
	Waited time.Duration
	// DeadTokensKept tells why dead device tokens could not be switched off. Empty: there were
	// none, or they are off now.
	DeadTokensKept string
}

// Text is the title, the body and the link that a recipient gets.
type Text struct {
	Title string // one line, no markup
	Body  string // with the markup of its channel
	URL   string // meets [IsLink]; empty: no link

	URLProblem error // why the text lacks the template's url; nil: it does not
}

// QuietCheck holds the input for the check of a delivery's quiet hours.
type QuietCheck struct {
	Now        time.Time // by the database's clock
	Action     QuietHoursAction
	Preference Preference
	Timezone   string
	Groups     []Setting // of the entities through which the event names the recipient
}

// Silence returns the quiet hours now. deferred reports whether the delivery waits for their end;
// otherwise the rules drop it.
func (c QuietCheck) Silence(now time.Time) (silence Silence, deferred bool) {
	if c.Action == Ignore {
		return Silence{}, false
	}
	silence = Quiet(c.Preference, c.Timezone, now, c.Groups...)
	return silence, Routing{QuietHoursAction: c.Action}.defers(silence)
}
