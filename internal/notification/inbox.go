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

// String returns the key as RESTAURANT_USER/10.
func (k RecipientKey) String() string { return string(k.UserType) + "/" + k.UserID }

// ErrNoNotification means that the recipient has no such WEBSOCKET notification. It also covers a
// notification that waits, was cancelled, or belongs to another recipient.
var ErrNoNotification = errors.New("no such notification of this recipient")

// ErrNoRecipient means that the recipient does not exist or is not active.
var ErrNoRecipient = errors.New("no such active recipient")

// ErrNoTicket means that the ticket was used, has expired, or never existed.
var ErrNoTicket = errors.New("no such ticket")

// Frame is the message of the channel WEBSOCKET. A gateway passes it unchanged to the sockets.
type Frame struct {
	Type           string    `json:"type"` // [FrameNotification]
	DeliveryID     string    `json:"delivery_id"`
	NotificationID JSONInt   `json:"notification_id"` // 0: a digest, whose items are separate notifications
	EventID        string    `json:"event_id"`
	EventType      string    `json:"event_type"`
	CorrelationID  string    `json:"correlation_id,omitempty"`
	UserType       UserType  `json:"user_type"`
	UserID         string    `json:"user_id"`
	Title          string    `json:"title"`
	Body           string    `json:"body"`
	URL            string    `json:"url,omitempty"`         // where it leads: meets [IsLink]
	CreatedAt      time.Time `json:"created_at"`            // UTC, to the second
	EntityType     string    `json:"entity_type,omitempty"` // through which the event named them; empty: unknown, or a digest
	EntityID       string    `json:"entity_id,omitempty"`
	EntityName     string    `json:"entity_name,omitempty"`  // what people call the entity; empty: it has no name
	Reason         string    `json:"reason,omitempty"`       // why they get it, in their language: you follow order 7
	CollapseKey    string    `json:"collapse_key,omitempty"` // it replaces notifications of the same event type and key with smaller ids
}

// FrameNotification is the type of a [Frame].
const FrameNotification = "notification"

// Frame returns the message in the form of the channel WEBSOCKET.
func (m Message) Frame() Frame {
	return Frame{
		Type:           FrameNotification,
		DeliveryID:     m.DeliveryID,
		NotificationID: JSONInt(m.NotificationID),
		EventID:        m.EventID,
		EventType:      m.EventType,
		CorrelationID:  m.CorrelationID,
		UserType:       m.UserType,
		UserID:         m.UserID,
		Title:          m.Title,
		Body:           m.Body,
		URL:            m.URL,
		CreatedAt:      m.CreatedAt.UTC().Truncate(time.Second),
		EntityType:     m.Entity.Type,
		EntityID:       m.Entity.ID,
		EntityName:     m.EntityName,
		Reason:         m.Reason,
		CollapseKey:    m.CollapseKey,
	}
}

// InboxItem is a WEBSOCKET notification as its recipient sees it. Its first attempt has ended,
// successfully or not.
type InboxItem struct {
	Frame
	AvailableAt time.Time  `json:"available_at"` // when its first attempt ended, UTC
	ReadAt      *time.Time `json:"read_at"`      // UTC; null: unread
}

// Position is the item's place in the inbox.
func (i InboxItem) Position() InboxPosition {
	return InboxPosition{AvailableAt: i.AvailableAt, ID: int64(i.NotificationID)}
}

// InboxPosition is a place in a recipient's inbox. Both fields define the order. The zero value
// comes before the oldest item.
type InboxPosition struct {
	AvailableAt time.Time
	ID          int64
}

// InboxFilter selects a page of an inbox.
type InboxFilter struct {
	Unread bool  // only unread items
	Before int64 // a notification id: the page has older items; 0: start at the newest
	Limit  int   // 1 to 100
}

// InboxPage is a page of an inbox, in the requested order.
type InboxPage struct {
	Items []InboxItem
	More  bool // more items follow
}

// InboxPageBytes limits a page's JSON, in bytes. A page has at least one item.
const InboxPageBytes = 1 << 20

// MaxUnread is the limit for counting and reading unread items. There may be more.
const MaxUnread = 1000

// Acknowledgement confirms that a notification reached a client of its recipient.
type Acknowledgement struct {
	ID int64
	RecipientKey
}
