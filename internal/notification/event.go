package notification

import (
	"encoding/json"
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
	Incomplete     EventOutcome = "INCOMPLETE" // deliveries were left PENDING; the sweep sees to them
	EventCancelled EventOutcome = "CANCELLED"
	EventFailed    EventOutcome = "FAILED"
)

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
}
