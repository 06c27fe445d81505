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

// Name is the part of a digest's workflow ID that is its own:
// staff10-EMAIL-REVIEW_POSTED. who is the word for the recipient's user type.
func (k DigestKey) Name(who string) string {
	return who + k.UserID + "-" + string(k.Channel) + "-" + k.EventType
}

// MaxDigestItems is how many notifications one digest lists at most.
const MaxDigestItems = 100

// DigestPlace says which digest a delivery joins, if it is still to be sent.
type DigestPlace struct {
	Status   Status
	Problem  string // not empty: it is FAILED, for this reason
	Key      DigestKey
	Who      string // the word for the recipient's user type
	Priority Priority
	Window   time.Duration
}

// SealedDigest is what one digest lists.
type SealedDigest struct {
	Items []string  // delivery ids, in their order
	Next  time.Time // end of the window of what was left for another digest; zero: nothing was left
}

// DigestItem is one notification in a digest.
type DigestItem struct {
	DeliveryID string
	EventID    string
	Title      string
	Body       string // HTML for EMAIL
	CreatedAt  time.Time
}

// Digest is what the database knows of a digest, apart from its items.
type Digest struct {
	Sent      int               // items that an earlier attempt sent
	Dropped   map[string]string // why the rules dropped items, by delivery id
	Locale    string            // the recipient's
	Templates []Template
}

// ItemAttempt names the attempt that a digest was for one of its items.
type ItemAttempt struct {
	DeliveryID string
	Attempt    int
}
