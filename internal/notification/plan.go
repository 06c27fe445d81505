package notification

import "time"

// Template is one row of notification_template. "*" stands for every event
// type, or every channel.
type Template struct {
	EventType string
	Channel   string
	Locale    string
	Title     string
	Body      string
}

// EventSetup is an event with all that was configured for its type.
type EventSetup struct {
	Event      Event
	Category   string // of the event's type; empty: none
	Recipients []EventRecipients
	Routing    []Routing // a row per channel at most

	Escalations []Escalation // from each channel to one other at most
	Supported   map[Channel][]UserType
	Templates   []Template
	Settings    []Setting // of the event's entities: those for every event type, and those for its own
}

// Cursor is the place behind one recipient in the order in which an event's
// recipients are read: managers first, then by user id, numbers as numbers. The
// zero value is the place before the first.
type Cursor struct {
	Rank     int    // 0: MANAGER; 1: everybody else
	Number   int64  // the user id, where it is a number; else the highest
	UserID   string // empty: before the first
	UserType UserType
	Used     Used // of max_recipients, by those before
}

// RecipientPage is a stretch of an event's recipients.
type RecipientPage struct {
	Recipients []Recipient
	Settings   []Setting    // of the event's entities; the same for every page
	PassedOver []PassedOver // whom no page names; in the first page
	Next       *Cursor      // nil: this was the last page
}

// DecidedRecipient is what the rules said about one recipient of an event. It and
// its deliveries travel to the database by these names.
type DecidedRecipient struct {
	UserType   UserType             `json:"user_type"`
	UserID     string               `json:"user_id"`
	Entity     Entity               `json:"-"` // through which the event reached them
	Decisions  map[Channel]Decision `json:"channels"`
	Deliveries []PlannedDelivery    `json:"-"` // of the selected channels
}

// PlannedDelivery is a row of notification before it is stored.
type PlannedDelivery struct {
	DeliveryID string    `json:"delivery_id"`
	Channel    Channel   `json:"channel"`
	Address    string    `json:"address"` // empty: none
	Title      string    `json:"title"`
	Body       string    `json:"body"`
	Strategy   Strategy  `json:"strategy"`
	Priority   Priority  `json:"priority"`
	SendAfter  time.Time `json:"send_after,omitzero"` // zero: at once
	Problem    string    `json:"problem"`             // not empty: it cannot be sent, for this reason, and has no text
}

// Delivery is a stored delivery, as much of it as a workflow may know: ids and
// options, no text and no address.
type Delivery struct {
	DeliveryID string
	Channel    Channel
	UserType   UserType
	UserID     string
	Priority   Priority
	SendAfter  time.Time `json:",omitzero"`  // zero: at once
	Wait       string    `json:",omitempty"` // until when and for what it waits, for people
	Digest     bool      `json:",omitempty"` // it is sent in a digest, and waits for that
	Next       time.Time `json:",omitzero"`  // an attempt failed for now, and the next one is due then

	Escalation *Escalation `json:",omitempty"` // what follows if it does not get there; nil: nothing
}

// Later says that a delivery is not to be sent at once.
func (d Delivery) Later() bool { return d.Digest || !d.SendAfter.IsZero() }

// Waits says that a delivery may take long for other reasons than that it is being sent: it
// has a time of its own, or something waits whether it gets there.
func (d Delivery) Waits() bool { return d.Later() || d.Escalation != nil }

// FailedDelivery is a delivery that failed for good.
type FailedDelivery struct {
	Delivery
	Reason string // never an address or a text
}

// IDRange is a stretch of notification.id, both ends included.
type IDRange struct {
	First, Last int64
}

// Stretch is the next deliveries of a lane.
type Stretch struct {
	IDRange  // the zero value: there are none
	Count    int
	Priority Priority // of most of them
	Failed   bool     // some of them are FAILED, and not by a receipt
}

// Part is the deliveries of an event that one workflow makes: a lane, or a stretch of a lane.
type Part struct {
	EventID string
	Lane    Lane
	IDs     IDRange // Last 0: to the end of the lane
}

// Lane is the deliveries of an event over one channel that are to be sent at once,
// or those that wait: see [Delivery.Waits].
type Lane struct {
	Channel Channel
	Waiting bool
}

// Counts is how an event ended: its deliveries by status, and its recipients'
// channels by decision.
type Counts struct {
	Outcome    EventOutcome `json:",omitempty"` // as processed_event has it
	Deliveries map[Status]int
	Decisions  map[Decision]int
}
