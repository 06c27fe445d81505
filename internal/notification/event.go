package notification

import (
	"encoding/json"
	"slices"
	"time"
)

// OutboxStatus is the status of a row of event_outbox. Empty: there is no row.
type OutboxStatus string

// The statuses of event_outbox.
const (
	OutboxPending   OutboxStatus = "PENDING"   // a poller starts its workflow
	OutboxProcessed OutboxStatus = "PROCESSED" // its workflow was started
	OutboxFailed    OutboxStatus = "FAILED"    // its workflow cannot be started; error_message says why
)

// ProcessedStatus is the status of a row of processed_event. Empty: there is no row.
type ProcessedStatus string

// The statuses of processed_event.
const (
	Processing       ProcessedStatus = "PROCESSING" // its workflow has not ended
	ProcessedSuccess ProcessedStatus = "SUCCESS"    // its deliveries have ended, well or not
	ProcessedFailed  ProcessedStatus = "FAILED"     // it was cancelled, or could not be planned
)

// EventOutcome says more about the end of an event than its [ProcessedStatus]: it
// is in processed_event, and in HeraldOutcome. Empty: there were deliveries, and
// all of them have ended.
type EventOutcome string

// The outcomes of an event.
const (
	NoRecipients   EventOutcome = "NO_RECIPIENTS"
	NoRouting      EventOutcome = "NO_ROUTING" // its type has no rows in event_type_channel_routing
	EventProblem   EventOutcome = "PROBLEM"    // people were told, and some rows of the rules named nobody
	Incomplete     EventOutcome = "INCOMPLETE" // deliveries were left PENDING; the sweep sees to them
	EventCancelled EventOutcome = "CANCELLED"
	EventFailed    EventOutcome = "FAILED"
)

// EventOutcomes returns them all.
func EventOutcomes() []EventOutcome {
	return append(MendableOutcomes(), Incomplete, EventCancelled, EventFailed)
}

// MendableOutcomes returns those of events that told nobody, or not everybody, because
// of the rules or the directory.
func MendableOutcomes() []EventOutcome {
	return []EventOutcome{NoRecipients, NoRouting, EventProblem}
}

// Mendable says that an event which ended so can be planned anew, once the rules or the
// directory are mended.
func (o EventOutcome) Mendable() bool { return slices.Contains(MendableOutcomes(), o) }

// EventEnd is how an event ended, as far as its workflow knows.
type EventEnd struct {
	EventID string
	Success bool // false: cancelled, or it could not be planned
	Outcome EventOutcome
	Problem string // which rows of the rules named nobody; empty: none
	First   bool   // it is recorded only if none is yet
}

// HeraldSource is the source that is Herald's own table, event_outbox.
const HeraldSource = "herald"

// Event is one row of event_outbox.
type Event struct {
	ID            string
	Type          string
	AggregateType string
	AggregateID   string
	Payload       json.RawMessage
	CorrelationID string // empty: none
	CreatedAt     time.Time

	Cancels     string // the event that it takes back; empty: none
	CancelledBy string // the event that takes this one back; empty: none
}

// CancelledByEvent stands before the id of an event that takes another one back.
const CancelledByEvent = "cancelled by event "

// CancelledBy is why an event is not sent that another one takes back. It is also in
// last_error of its deliveries.
func CancelledBy(eventID string) string { return CancelledByEvent + eventID }
