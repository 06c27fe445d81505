package notification

import "time"

// DigestKey identifies a digest: one recipient, one event type, one channel.
type DigestKey struct {
	UserType  UserType
	UserID    string
	Channel   Channel
	EventType string
}

// Name is the digest's part of a workflow ID: staff10-EMAIL-REVIEW_POSTED. who is the word for
// the recipient's user type.
func (k DigestKey) Name(who string) string {
	return who + k.UserID + "-" + string(k.Channel) + "-" + k.EventType
}

// MaxDigestItems is the maximum number of notifications in one digest.
const MaxDigestItems = 100

// DigestPlace names the digest that a delivery joins, if the delivery still has to be sent.
type DigestPlace struct {
	Status   Status
	Problem  string // why it is FAILED; empty: it is not
	Key      DigestKey
	Who      string // the word for the recipient's user type
	Priority Priority
	Window   time.Duration
}

// SealedDigest is the content of one digest.
type SealedDigest struct {
	Items []string  // delivery ids, in order
	Next  time.Time // end of the window of the remaining notifications; zero: none remain
}

// DigestItem is one notification in a digest.
type DigestItem struct {
	DeliveryID string
	EventID    string
	Title      string
	Body       string // HTML for EMAIL
	CreatedAt  time.Time
}

// Digest is a digest's data in the database, without its items.
type Digest struct {
	Sent      int               // items that an earlier attempt sent
	Dropped   map[string]string // why the rules dropped items, by delivery id
	Locale    string            // of the recipient
	Templates []Template
}

// ItemAttempt is the attempt at one item that its digest counts as.
type ItemAttempt struct {
	DeliveryID string
	Attempt    int
}
