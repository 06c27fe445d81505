package notification

import (
	"slices"
	"time"
)

// Template is one row of notification_template. "*" means every event type or every channel. Its JSON
// is its key.
type Template struct {
	EventType string `json:"event_type"`
	Channel   string `json:"channel"`
	Locale    string `json:"locale"`
	Title     string `json:"-"`
	Body      string `json:"-"`
	URL       string `json:"-"`

	Layout     string `json:"-"` // the name of its layout; empty: none
	LayoutBody string `json:"-"` // in the template's language, or in en; empty: there is none
	// For the layout's links: the category of the event type, and whether its messages may be switched off.
	Category string `json:"-"`
	Optional bool   `json:"-"`
}

// EventSetup is an event with the configuration of its type.
type EventSetup struct {
	Now        time.Time // by the database's clock, when the event was read
	Event      Event
	Category   string // of the event's type; empty: none
	Recipients []EventRecipients
	Routing    []Routing // at most one row per channel

	Escalations  []Escalation // at most one from each channel
	Supported    map[Channel][]UserType
	Templates    []Template
	ApprovalOver *int // an event with more recipients needs approval; nil: no event does

	Caps     Caps      // of the channels in Routing
	Settings []Setting // of the event's entities: for every event type, and for its type

	Holders AddressHolders // of the event's deliveries; nil: addresses are not compared
}

// Unplanned returns the outcome of an event that is not planned, and why. Empty: it is planned,
// or it only cancels another event.
func (s EventSetup) Unplanned() (outcome EventOutcome, problem string) {
	switch {
	case s.Event.CancelledBy != "":
		return EventCancelled, CancelledBy(s.Event.CancelledBy)
	case s.Event.Answer == Rejected:
		return EventRejected, ""
	case len(s.Routing) == 0 && s.Event.Cancels == "":
		return NoRouting, "event type " + s.Event.Type + " has no rows in event_type_channel_routing"
	default:
		return "", ""
	}
}

// Cursor is a position in the order of an event's recipients: managers first, then by user id,
// with numbers in numeric order. The zero value comes before the first recipient.
type Cursor struct {
	Rank     int    // 0: MANAGER; 1: everybody else
	Number   int64  // the user id if it is a number; else the highest number
	UserID   string // empty: before the first recipient
	UserType UserType
}

// RecipientPage is a page of an event's recipients.
type RecipientPage struct {
	Recipients []Recipient
	Settings   []Setting    // of the event's entities; the same for every page
	PassedOver []PassedOver // people on no page; only in the first page
	Next       *Cursor      // nil: this is the last page
}

// Limited reports whether an entity limits the number of recipients.
func (p RecipientPage) Limited() bool {
	return slices.ContainsFunc(p.Settings, func(s Setting) bool { return s.MaxRecipients != nil })
}

// DecidedRecipient is the rules' decision about one recipient of an event. Its JSON names and its
// deliveries' JSON names go to the database.
type DecidedRecipient struct {
	UserType  UserType             `json:"user_type"`
	UserID    string               `json:"user_id"`
	Entity    Entity               `json:"-"` // that the event reached them through
	Decisions map[Channel]Decision `json:"channels"`

	MemberRole string `json:"-"` // as in [Recipient]

	ThrottledBy map[Channel]string `json:"throttled_by,omitempty"` // the deliveries that they got instead

	Deliveries []PlannedDelivery `json:"-"` // of the selected channels
}

// NewDecided returns a recipient without decisions.
func NewDecided(r Recipient) DecidedRecipient {
	return DecidedRecipient{
		UserType: r.UserType, UserID: r.UserID, Entity: r.Entity, MemberRole: r.MemberRole, Decisions: map[Channel]Decision{},
	}
}

// Add adds the decision about a channel.
func (r *DecidedRecipient) Add(choice Choice) {
	r.Decisions[choice.Channel] = choice.Decision
	if choice.ThrottledBy == "" {
		return
	}
	if r.ThrottledBy == nil {
		r.ThrottledBy = map[Channel]string{}
	}
	r.ThrottledBy[choice.Channel] = choice.ThrottledBy
}

// PlannedDelivery is a row of notification before it is stored.
type PlannedDelivery struct {
	DeliveryID string    `json:"delivery_id"`
	Channel    Channel   `json:"channel"`
	Address    string    `json:"address"` // empty: none
	Title      string    `json:"title"`
	Body       string    `json:"body"`
	URL        string    `json:"url"` // empty: none
	Strategy   Strategy  `json:"strategy"`
	Priority   Priority  `json:"priority"`
	SendAfter  time.Time `json:"send_after,omitzero"` // zero: at once
	ExpiresAt  time.Time `json:"expires_at,omitzero"` // zero: never
	Problem    string    `json:"problem"`             // why it cannot be sent and has no text; empty: it can

	AddressHash string `json:"address_hash"` // hexadecimal; empty: its route does not compare addresses
}

// Delivery is a stored delivery with the fields that a workflow may know: ids and options, no
// text and no address.
type Delivery struct {
	DeliveryID string
	Channel    Channel
	UserType   UserType
	UserID     string
	Priority   Priority
	Later      bool        `json:",omitempty"` // it waits for its time or for its digest, a minute or longer
	Escalation *Escalation `json:",omitempty"` // what follows if it does not arrive; nil: nothing
}

// Waits reports whether a delivery may take long for a reason other than sending: it is due
// later, or an escalation watches it.
func (d Delivery) Waits() bool { return d.Later || d.Escalation != nil }

// FailedDelivery is a delivery that failed for good.
type FailedDelivery struct {
	Delivery
	Reason string // never contains an address or a text
}

// IDRange is a range of notification.id, both ends included.
type IDRange struct {
	First, Last int64
}

// Stretch is the next group of deliveries in a lane.
type Stretch struct {
	IDRange  // zero: there are none
	Count    int
	Priority Priority // of most deliveries
	Failed   bool     // some are FAILED, but not by a receipt
}

// Part is the group of an event's deliveries that one workflow makes: a lane, or a stretch of a
// lane.
type Part struct {
	EventID string
	Lane    Lane
	IDs     IDRange // Last 0: to the end of the lane
}

// Lane is an event's deliveries over one channel that are due at once, or those deliveries that
// wait (see [Delivery.Waits]).
type Lane struct {
	Channel Channel
	Waiting bool
}

// Counts is the end of an event: its deliveries by status, and its recipients' channels by
// decision.
type Counts struct {
	Outcome    EventOutcome `json:",omitempty"` // as in processed_event
	Deliveries map[Status]int
	Decisions  map[Decision]int
}
