package notification

import (
	"errors"
	"time"
)

// RecipientKey names a recipient.
type RecipientKey struct {
	UserType UserType
	UserID   string
}

// String is RESTAURANT_USER/10.
func (k RecipientKey) String() string { return string(k.UserType) + "/" + k.UserID }

// ErrNoNotification means that the recipient has no such WEBSOCKET notification, or that it
// is not to be seen: it waits, or was cancelled. Somebody else's is none of theirs.
var ErrNoNotification = errors.New("no such notification of this recipient")

// ErrNoTicket means that there is no such ticket: it was used, it has expired, or it never was.
var ErrNoTicket = errors.New("no such ticket")

// Frame is the message of the channel WEBSOCKET, which a gateway hands to the sockets as it is.
type Frame struct {
	Type           string    `json:"type"` // [FrameNotification]
	DeliveryID     string    `json:"delivery_id"`
	NotificationID int64     `json:"notification_id"` // 0: a digest, whose items are notifications of their own
	EventID        string    `json:"event_id"`
	EventType      string    `json:"event_type"`
	CorrelationID  string    `json:"correlation_id,omitempty"`
	UserType       UserType  `json:"user_type"`
	UserID         string    `json:"user_id"`
	Title          string    `json:"title"`
	Body           string    `json:"body"`
	CreatedAt      time.Time `json:"created_at"` // UTC, to the second
}

// FrameNotification is the type of a [Frame].
const FrameNotification = "notification"

// Frame is the message as the channel WEBSOCKET sends it.
func (m Message) Frame() Frame {
	return Frame{
		Type:           FrameNotification,
		DeliveryID:     m.DeliveryID,
		NotificationID: m.NotificationID,
		EventID:        m.EventID,
		EventType:      m.EventType,
		CorrelationID:  m.CorrelationID,
		UserType:       m.UserType,
		UserID:         m.UserID,
		Title:          m.Title,
		Body:           m.Body,
		CreatedAt:      m.CreatedAt.UTC().Truncate(time.Second),
	}
}

// InboxItem is a WEBSOCKET notification as its recipient sees it: its first attempt has
// ended, also where it failed.
type InboxItem struct {
	Frame
	AvailableAt time.Time  `json:"available_at"` // when its first attempt ended, UTC; of a row of an older release, when it was sent or made
	ReadAt      *time.Time `json:"read_at"`      // UTC; null: not read
}

// Position is the item's place in the inbox.
func (i InboxItem) Position() InboxPosition {
	return InboxPosition{AvailableAt: i.AvailableAt, ID: i.NotificationID}
}

// InboxPosition is a place in a recipient's inbox, whose order is by both fields. The zero
// value is the place before the oldest.
type InboxPosition struct {
	AvailableAt time.Time
	ID          int64
}

// InboxFilter asks for a page of an inbox.
type InboxFilter struct {
	Unread bool  // only what is not read
	Before int64 // a notification of the recipient's: the page has what is older; 0: from the newest
	Limit  int   // 1 to 100
}

// InboxPage is a part of an inbox, in the order in which it was asked for.
type InboxPage struct {
	Items []InboxItem
	More  bool // items follow it
}

// InboxPageBytes bounds a page as JSON, in bytes. A page has one item at least.
const InboxPageBytes = 1 << 20

// MaxUnread is where counting and reading of what is unread ends: there may be more.
const MaxUnread = 1000

// Acknowledgement says that a notification has reached a client of its recipient.
type Acknowledgement struct {
	ID int64
	RecipientKey
}
