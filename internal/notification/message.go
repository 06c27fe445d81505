package notification

import (
	"encoding/json"
	"time"
)

// Message is all that a sender needs in order to send one delivery.
type Message struct {
	DeliveryID     string
	NotificationID int64
	EventID        string
	EventType      string
	CorrelationID  string // the event's; may be empty
	UserType       UserType
	Audience       string // of the user type: the last word of its queues; "": the type is gone
	UserID         string
	Name           string   // of the recipient; may be empty
	To             string   // as [Recipient.Address] has it: e-mail address, phone number (E.164) or Slack webhook URL
	Devices        []string // FCM tokens of the active devices; PUSH only
	Title          string   // one line, no markup
	Body           string   // HTML where [Channel.HTML] says so, else plain text
	PushKind       PushKind // PUSH only; empty: [PushNotification]
	Category       string   // of the event type; empty: it has none
	Optional       bool     // the recipient may switch its like off
	CreatedAt      time.Time
}

// PushKind is who shows a push message: the phone, or the app that gets it.
type PushKind string

// The kinds of event_type_channel_routing.push_kind. Of the notifications for a
// phone that is offline, FCM keeps only some; of the data messages a hundred.
const (
	PushNotification PushKind = "NOTIFICATION" // the phone shows it
	PushData         PushKind = "DATA"         // the app shows it
)

// Answer is what a provider said to a message. It holds as much as is known,
// even when the sender returns an error beside it.
type Answer struct {
	ProviderID  string   // the provider's id of the message; may be empty
	Status      int      // HTTP status of the answer; 0: none
	DeadDevices []string // tokens that the provider will never accept again

	// Took is the time of the call alone, up to the end of the answer or of the wait for
	// it; of several calls, the longest. 0: the provider was not called.
	Took time.Duration
}

// DeadLetter is a delivery that was given up, as the queue of dead letters and
// its consumers know it.
type DeadLetter struct {
	DeliveryID    string    `json:"delivery_id"`
	EventID       string    `json:"event_id"`
	CorrelationID string    `json:"correlation_id,omitempty"` // the event's
	Channel       Channel   `json:"channel"`
	UserType      UserType  `json:"user_type"`
	UserID        string    `json:"user_id"`
	Reason        string    `json:"reason"` // never an address or a text
	Attempts      int       `json:"attempts"`
	FailedAt      time.Time `json:"failed_at"` // written in UTC, to the second
}

// MarshalJSON writes the time as RFC 3339 in UTC, without fractions of a second.
func (d DeadLetter) MarshalJSON() ([]byte, error) {
	type plain DeadLetter
	d.FailedAt = d.FailedAt.UTC().Truncate(time.Second)
	return json.Marshal(plain(d))
}
