package notification

import "time"

// DigestKey is what a digest is of: one recipient's notifications of one event
// type, over one channel.
type DigestKey struct {
	UserType  UserType
	UserID    string
	Channel   Channel
	EventType string
}

// String is the part of a digest's workflow ID that is its own:
// staff10-EMAIL-REVIEW_POSTED.
func (k DigestKey) String() string {
	return k.UserType.Who() + k.UserID + "-" + string(k.Channel) + "-" + k.EventType
}

// MaxDigestItems is how many notifications one digest lists at most.
const MaxDigestItems = 100

// DigestPlace is what joining a digest takes to know of a delivery.
type DigestPlace struct {
	Status   Status
	Problem  string // not empty: it is FAILED, for this reason
	Key      DigestKey
	Priority Priority
	Window   time.Duration
}

// SealedDigest is what one digest lists.
type SealedDigest struct {
	Items []string  // delivery ids, in their order
	Next  time.Time // when the window of what was left for another digest ends; zero: nothing was
}

// DigestItem is one notification in a digest.
type DigestItem struct {
	DeliveryID string
	Attempt    int // its number, over all runs of the delivery
	EventID    string
	Title      string
	Body       string // HTML for EMAIL
	CreatedAt  time.Time
}

// BeginDigest asks for an attempt at a digest.
type BeginDigest struct {
	DigestID   string
	Key        DigestKey
	JudgeQuiet bool // drop the items whose group wants quiet
}

// DigestAttempt is what a digest needs in order to be sent once more, read and
// counted in one statement.
type DigestAttempt struct {
	Items     []DigestItem      // those that were not cancelled; none: there is nothing to send
	Sent      int               // items that an attempt before this one sent
	Dropped   map[string]string // why items may not be told any more, by delivery id; those of earlier attempts too
	Tried                       // by the least tried item
	Recipient Recipient         // as far as a text may know them
	Message   Message           // without a text
	Templates []Template
}

// ItemAttempt names the attempt that a digest was for one of its items.
type ItemAttempt struct {
	DeliveryID string
	Attempt    int
}
