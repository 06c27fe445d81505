package notification

import (
	"cmp"
	"time"
)

// EscalationUntil is the condition that ends an escalation's wait.
type EscalationUntil string

// The conditions of event_type_escalation.
const (
	UntilDelivered EscalationUntil = "DELIVERED" // the delivery has arrived, or was read
	UntilRead      EscalationUntil = "READ"      // the recipient has read any notification of the event
)

// Escalation is a row of event_type_escalation for one event type.
type Escalation struct {
	From  Channel
	To    Channel
	After time.Duration
	Until EscalationUntil

	IfUnreachable bool `json:",omitempty"` // a recipient who is unreachable over From gets To at once
}

// Then describes the condition and the next channel: " to be read, then SMS". The text follows a
// time.
func (e Escalation) Then() string {
	if e.Until == UntilRead {
		return " to be read, then " + string(e.To)
	}
	return " to be delivered, then " + string(e.To)
}

// EscalatedType is the event type whose template an escalated delivery uses. If that template
// does not exist, the event's own type applies.
func EscalatedType(eventType string) string { return eventType + ".escalated" }

// EscalationOutcome is how an escalation ended.
type EscalationOutcome string

// The outcomes of an escalation.
const (
	EscalationFollowed  EscalationOutcome = "FOLLOWED"  // another delivery follows
	EscalationRead      EscalationOutcome = "READ"      // the recipient has read a notification of the event
	EscalationDelivered EscalationOutcome = "DELIVERED" // the delivery has arrived
	EscalationCancelled EscalationOutcome = "CANCELLED" // the delivery or its event was cancelled
	EscalationToldSo    EscalationOutcome = "TOLD"      // the event already has a delivery over the other channel
	EscalationDropped   EscalationOutcome = "DROPPED"   // the rules, or a change of the event's recipients, allow no delivery
)

var escalationMeanings = map[EscalationOutcome]string{
	EscalationFollowed:  "another delivery follows",
	EscalationRead:      "the recipient has read a notification of the event",
	EscalationDelivered: "it has arrived",
	EscalationCancelled: "it was cancelled, or its event was",
	EscalationToldSo:    "the event had a delivery over the other channel already",
	EscalationDropped:   "the rules allow none",
}

// Meaning explains to people why an escalation ended.
func (o EscalationOutcome) Meaning() string { return cmp.Or(escalationMeanings[o], "an unknown end") }

// Escalating is the present state of a delivery that may be escalated.
type Escalating struct {
	Now         time.Time // by the database's clock
	EventType   string
	Status      Status
	Unreachable bool       // it was cancelled because the recipient became unreachable
	Expired     bool       // it was not sent in time
	Read        bool       // the recipient has read a notification of the event
	SendAfter   time.Time  // zero: it was due at once
	CancelledBy string     // the event that cancels its event; empty: none
	Ended       bool       // an operator ended the escalation, or a newer event replaced the delivery
	Told        bool       // the event has a delivery over the other channel
	Followed    bool       // that delivery follows this one
	Selected    int        // the entity's recipients who are selected for the other channel
	Throttles   []Throttle // the last delivery for the key
}

// Evaluate returns how an escalation that began at since has ended, or until when it waits. If both are
// zero, another delivery is due. A failed delivery ends the wait at once.
func (e Escalating) Evaluate(escalation Escalation, since time.Time) (ended EscalationOutcome, until time.Time) {
	instead := e.Unreachable && escalation.IfUnreachable
	switch due := escalation.Due(since, e.SendAfter); {
	case e.Followed:
		return EscalationFollowed, time.Time{}
	case e.CancelledBy != "" || e.Ended || e.Expired || e.Status == Cancelled && !instead:
		return EscalationCancelled, time.Time{}
	case e.Read:
		return EscalationRead, time.Time{}
	case e.Status == Delivered && escalation.Until == UntilDelivered:
		return EscalationDelivered, time.Time{}
	case e.Told:
		return EscalationToldSo, time.Time{}
	case e.Status != Failed && !instead && e.Now.Before(due):
		return "", due
	default:
		return "", time.Time{}
	}
}

// Due is the deadline for a delivery to arrive. The time starts at sendAfter or at since,
// whichever is later.
func (e Escalation) Due(since, sendAfter time.Time) time.Time {
	if sendAfter.After(since) {
		since = sendAfter
	}
	return since.Add(e.After)
}

// EscalationKey names a delivery that may be escalated.
type EscalationKey struct {
	DeliveryID string
	To         Channel
	Limited    Entity // the entity whose selected recipients over To are counted; zero: no limit

	Throttle *Throttle // the key and window of the delivery over To; nil: no limit
}
