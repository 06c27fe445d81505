package notification

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"time"
)

// Message holds everything that a sender needs to send one delivery.
type Message struct {
	DeliveryID     string
	NotificationID int64
	EventID        string
	EventType      string
	CorrelationID  string // of the event; may be empty
	UserType       UserType
	Audience       string // of the user type: the last word of its queue names; "": the type is gone
	UserID         string
	Name           string   // of the recipient; may be empty
	To             string   // as in [Recipient.Address]: e-mail address, phone number (E.164) or webhook URL
	Devices        []string // tokens of the active devices, of each [DeviceKind]; PUSH only
	Title          string   // one line, no markup
	Body           string   // with the markup of its channel
	URL            string   // where it leads; empty: nowhere
	PushKind       PushKind // PUSH only; empty: [PushNotification]
	Category       string   // of the event type; empty: it has none
	Optional       bool     // the recipient may switch such notifications off
	Ordered        bool     // an operator ordered the delivery, or wants it to be sent now
	Priority       Priority // of the delivery; empty: [Normal]
	CollapseKey    string   // of the event; empty: none
	CreatedAt      time.Time
	Entity         Entity    // through which the event names the recipient; the zero value: unknown, or a digest
	EntityName     string    // as in [Recipient]
	MemberRole     string    // as in [Recipient]
	Locale         string    // of the recipient
	Reason         string    // why they get it, in their language; empty: the entity is unknown, or a digest
	Provider       string    // that may have the message from an earlier attempt without a clear answer; empty: none
	AnyProvider    bool      // the other providers are asked before Provider, although the message may then arrive twice
	ExpiresAt      time.Time // by the database's clock; zero: never
	SendBy         time.Time // ExpiresAt on this process's monotonic clock; zero: never
}

// TimeLeft returns the time until the message expires: never negative, and at most limit. ok is
// false if the message never expires. Providers count whole seconds, so it rounds down.
func (m Message) TimeLeft(limit time.Duration) (left time.Duration, ok bool) {
	if m.SendBy.IsZero() {
		return 0, false
	}
	return min(max(0, time.Until(m.SendBy)), limit).Truncate(time.Second), true
}

// Expired reports whether the message has expired.
func (m Message) Expired() bool { return !m.SendBy.IsZero() && !time.Now().Before(m.SendBy) }

// PushKind tells who shows a push message: the phone or the app.
type PushKind string

// The kinds of event_type_channel_routing.push_kind. For an offline phone, FCM keeps a few
// notifications but a hundred data messages.
const (
	PushNotification PushKind = "NOTIFICATION" // the phone shows it
	PushData         PushKind = "DATA"         // the app shows it
)

// Answer is a provider's answer to a message. It holds all known facts, even when the sender also
// returns an error.
type Answer struct {
	Provider    string   // that has the message, or may have it; empty: none
	Sender      string   // our address or number at Provider, such as EMAIL_FROM; empty: none
	Failover    bool     // an earlier provider did not take it
	MayRepeat   bool     // an earlier provider may have sent it
	ProviderID  string   // the provider's message id; may be empty
	Status      int      // HTTP status of the answer; 0: none
	Segments    int      // of a text message, as the provider charges them; 0: not a text message
	DeadDevices []string // tokens that the provider will never accept again

	// Took is the duration of the call, up to the end of the answer or the time-out. For several
	// calls it is the longest. 0: no call.
	Took time.Duration
}

// DeadLetter is a delivery that Herald gave up, in the form of the dead-letter queue.
type DeadLetter struct {
	DeliveryID    string    `json:"delivery_id"`
	EventID       string    `json:"event_id"`
	CorrelationID string    `json:"correlation_id,omitempty"` // of the event
	Channel       Channel   `json:"channel"`
	UserType      UserType  `json:"user_type"`
	UserID        string    `json:"user_id"`
	Reason        string    `json:"reason"` // never contains an address or a text
	Attempts      int       `json:"attempts"`
	FailedAt      time.Time `json:"failed_at"` // serialised in UTC, to the second
}

// MarshalJSON writes the time as RFC 3339 in UTC, without fractions of a second.
func (d DeadLetter) MarshalJSON() ([]byte, error) {
	type plain DeadLetter
	d.FailedAt = d.FailedAt.UTC().Truncate(time.Second)
	return json.Marshal(plain(d))
}

// maxLink limits a link, in bytes.
const maxLink = 2048

func isLoopback(u *url.URL) bool {
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// IsLink reports whether a notification may lead to an address: https, http to this machine, or a
// path on the page's host. Browsers read a backslash as a slash, so it could name another host.
func IsLink(address string) bool {
	if len(address) > maxLink || strings.ContainsAny(address, "\\ ") {
		return false
	}
	u, err := url.Parse(address) // it refuses control characters, which browsers would skip
	switch {
	case err != nil || u.User != nil:
		return false
	case u.Scheme == "https":
		return u.Hostname() != ""
	case u.Scheme == "http":
		return isLoopback(u)
	default:
		return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//")
	}
}
