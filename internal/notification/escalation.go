package notification

import (
	"cmp"
	"time"
)

// EscalationUntil is what ends the wait of an escalation.
type EscalationUntil string

// The ends of event_type_escalation.
const (
	UntilDelivered EscalationUntil = "DELIVERED" // it has arrived, or was read
	UntilRead      EscalationUntil = "READ"      // the recipient has read any notification of the event
)

// Escalation is a row of event_type_escalation, of one event type.
type Escalation struct {
	From  Channel
	To    Channel
	After time.Duration
	Until EscalationUntil

	IfUnreachable bool `json:",omitempty"` // who cannot be reached over From is told over To at once
}

// Then says what an escalation waits for, and what follows: " to be read, then SMS". It
// stands behind a time.
func (e Escalation) Then() string {
	if e.Until == UntilRead {
		return " to be read, then " + string(e.To)
	}
	return " to be delivered, then " + string(e.To)
}

// EscalatedType is the event type whose template an escalated delivery has, where there is
// one; else it has that of the event's own type.
func EscalatedType(eventType string) string { return eventType + ".escalated" }

// EscalationOutcome is how an escalation ended.
type EscalationOutcome string

// The ends of an escalation.
const (
	EscalationFollowed  EscalationOutcome = "FOLLOWED"  // another delivery follows
	EscalationRead      EscalationOutcome = "READ"      // the recipient has read a notification of the event
	EscalationDelivered EscalationOutcome = "DELIVERED" // it has arrived
	EscalationCancelled EscalationOutcome = "CANCELLED" // the delivery or its event is
	EscalationToldSo    EscalationOutcome = "TOLD"      // the event had a delivery over the other channel already
	EscalationDropped   EscalationOutcome = "DROPPED"   // the rules, or what the event concerns, allow none
)

var escalationMeanings = map[EscalationOutcome]string{
	EscalationFollowed:  "another delivery follows",
	EscalationRead:      "the recipient has read a notification of the event",
	EscalationDelivered: "it has arrived",
	EscalationCancelled: "it was cancelled, or its event was",
	EscalationToldSo:    "the event had a delivery over the other channel already",
	EscalationDropped:   "the rules allow none",
}

// Meaning says, as a sentence for people, why an escalation ended.
func (o EscalationOutcome) Meaning() string { return cmp.Or(escalationMeanings[o], "an unknown end") }

// Escalating is a delivery that another one may follow, and what has become of it by now.
type Escalating struct {
	Now         time.Time // by the database's clock
	Status      Status
	Unreachable bool      // it was cancelled, since the recipient could not be reached any more
	Read        bool      // the recipient has read a notification of the event
	SendAfter   time.Time // zero: it was to be sent at once
	CancelledBy string    // the event that takes its event back; empty: none
	Ended       bool      // an operator ended the escalation
	Told        bool      // there is a delivery over the other channel
	Followed    bool      // that one follows this one
	Selected    int       // recipients of the entity who are told over the other channel
}

// Judge says how an escalation ends that began at since, or until when it waits; neither:
// another delivery is due. One that has failed is not waited for.
func (e Escalating) Judge(escalation Escalation, since time.Time) (ended EscalationOutcome, until time.Time) {
	instead := e.Unreachable && escalation.IfUnreachable
	switch due := escalation.Due(since, e.SendAfter); {
	case e.Followed:
		return EscalationFollowed, time.Time{}
	case e.CancelledBy != "" || e.Ended || e.Status == Cancelled && !instead:
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

// Due is until when a delivery has time to get there: from its own time on, or from since
// where that was later.
func (e Escalation) Due(since, sendAfter time.Time) time.Time {
	if sendAfter.After(since) {
		since = sendAfter
	}
	return since.Add(e.After)
}

// EscalationKey names a delivery that another one may follow.
type EscalationKey struct {
	DeliveryID string
	To         Channel
	Limited    Entity // whose selected recipients over To are to be counted; zero: any number is allowed
}
