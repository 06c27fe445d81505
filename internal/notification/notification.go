// Package notification is the vocabulary of Herald and its rules: the words
// that every other package uses, and the pure functions that decide who hears
// of an event, over which channel and when. It imports nothing but the standard
// library, so that the rules can be read and tested without a server.
package notification

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Channel is a way to reach a recipient.
type Channel string

// The channels, in the order in which they are shown.
const (
	WebSocket Channel = "WEBSOCKET"
	Email     Channel = "EMAIL"
	Push      Channel = "PUSH"
	SMS       Channel = "SMS"
	Slack     Channel = "SLACK"
)

// Channels returns every channel, in the order in which they are shown.
func Channels() []Channel { return []Channel{WebSocket, Email, Push, SMS, Slack} }

// Valid says whether c is one of [Channels].
func (c Channel) Valid() bool { return slices.Contains(Channels(), c) }

// BestEffort says that a channel gets one attempt, and that its failure is an
// outcome rather than an error.
func (c Channel) BestEffort() bool { return c == WebSocket || c == Slack }

// Quieted says that quiet hours silence a channel.
func (c Channel) Quieted() bool { return c == Email || c == Push || c == SMS }

// UserType is the kind of person a recipient is.
type UserType string

// The types of recipient.
const (
	RestaurantUser UserType = "RESTAURANT_USER"
	Customer       UserType = "CUSTOMER"
	AgencyUser     UserType = "AGENCY_USER"
	Admin          UserType = "ADMIN"
	Guest          UserType = "GUEST"
)

// Who is the word for a user type in a delivery id.
func (t UserType) Who() string {
	switch t {
	case RestaurantUser:
		return "staff"
	case AgencyUser:
		return "agent"
	default:
		return strings.ToLower(string(t))
	}
}

// Audience is the last word of the queues that concern a user type:
// restaurant, customer, agency, admin or guest; "" for a type that nobody knows.
func (t UserType) Audience() string {
	switch t {
	case RestaurantUser:
		return "restaurant"
	case AgencyUser:
		return "agency"
	case Customer, Admin, Guest:
		return strings.ToLower(string(t))
	default:
		return ""
	}
}

// Status is how far a delivery has come. It only climbs.
type Status string

// The statuses of a delivery.
const (
	Pending   Status = "PENDING"
	Sent      Status = "SENT"      // the provider accepted it
	Delivered Status = "DELIVERED" // a receipt says that it arrived
	Failed    Status = "FAILED"
	Cancelled Status = "CANCELLED"
)

// Strategy is when a delivery is sent.
type Strategy string

// The strategies of event_type_channel_routing.
const (
	Immediate Strategy = "IMMEDIATE"
	Delayed   Strategy = "DELAYED"
	Aggregate Strategy = "AGGREGATE"
)

// Priority orders deliveries that wait for the same workers.
type Priority string

// The priorities of a delivery; empty means Normal.
const (
	High   Priority = "HIGH"
	Normal Priority = "NORMAL"
	Low    Priority = "LOW"
)

// Event is one row of event_outbox.
type Event struct {
	ID            string
	Type          string
	AggregateType string
	AggregateID   string
	Payload       json.RawMessage
	CorrelationID string // empty: none
	CreatedAt     time.Time
}

// DeliveryID is the workflow ID of one delivery: evt-1-staff10-EMAIL.
func DeliveryID(eventID string, userType UserType, userID string, channel Channel) string {
	return eventID + "-" + userType.Who() + userID + "-" + string(channel)
}

// Message is all that a sender needs in order to send one delivery.
type Message struct {
	DeliveryID     string
	NotificationID int64
	EventID        string
	EventType      string
	CorrelationID  string // the event's; may be empty
	UserType       UserType
	UserID         string
	Name           string   // of the recipient; may be empty
	To             string   // e-mail address, phone number (E.164) or Slack webhook URL; empty for WEBSOCKET and PUSH
	Devices        []string // FCM tokens of the active devices; PUSH only
	Title          string   // one line, no markup
	Body           string   // HTML for EMAIL, plain text for the others
	PushKind       PushKind // PUSH only; empty: [PushNotification]
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

// Receipt is what a provider said to a message. It holds as much as is known,
// even when the sender returns an error beside it.
type Receipt struct {
	ProviderID  string   // the provider's id of the message; may be empty
	Status      int      // HTTP status of the answer; 0: none
	DeadDevices []string // tokens that the provider will never accept again
}
