package notification

import "time"

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
}

// EscalatedType is the event type whose template an escalated delivery has, where there is
// one; else it has that of the event's own type.
func EscalatedType(eventType string) string { return eventType + ".escalated" }
