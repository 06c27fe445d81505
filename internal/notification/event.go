package notification

import (
	"encoding/json"
	"slices"
	"time"
)

// OutboxStatus is the status of a row of event_outbox. Empty: the row does not exist.
type OutboxStatus string

// The statuses of event_outbox.
const (
	OutboxPending   OutboxStatus = "PENDING"   // a poller starts its workflow
	OutboxProcessed OutboxStatus = "PROCESSED" // its workflow was started
	OutboxFailed    OutboxStatus = "FAILED"    // its workflow cannot be started; error_message tells why
)

// ProcessedStatus is the status of a row of processed_event. Empty: the row does not exist.
type ProcessedStatus string

// The statuses of processed_event.
const (
	Processing       ProcessedStatus = "PROCESSING" // its workflow has not ended
	ProcessedSuccess ProcessedStatus = "SUCCESS"    // its deliveries have ended, sent or not
	ProcessedFailed  ProcessedStatus = "FAILED"     // it was cancelled, or could not be planned
)

// EventOutcome details the end of an event beyond its [ProcessedStatus]. processed_event and
// HeraldOutcome store it. Empty: the event had deliveries, and all of them have ended.
type EventOutcome string

// The outcomes of an event.
const (
	NoRecipients   EventOutcome = "NO_RECIPIENTS"
	NoRouting      EventOutcome = "NO_ROUTING" // its type has no rows in event_type_channel_routing
	EventProblem   EventOutcome = "PROBLEM"    // some recipients were told, and some rows of the rules named nobody
	Incomplete     EventOutcome = "INCOMPLETE" // deliveries remain PENDING; the sweep takes care of them
	EventCancelled EventOutcome = "CANCELLED"
	EventFailed    EventOutcome = "FAILED"

	AwaitingApproval EventOutcome = "AWAITING_APPROVAL" // it tells more people than event_type_approval allows, and waits
	EventRejected    EventOutcome = "REJECTED"          // nobody approved it
)

// EventOutcomes returns every outcome.
func EventOutcomes() []EventOutcome {
	return append(MendableOutcomes(), Incomplete, EventCancelled, EventFailed, AwaitingApproval, EventRejected)
}

// MendableOutcomes returns the outcomes of events that missed recipients because of the rules or
// the directory.
func MendableOutcomes() []EventOutcome {
	return []EventOutcome{NoRecipients, NoRouting, EventProblem}
}

// Mendable reports whether an event with this outcome can be planned again once the rules or the
// directory are corrected.
func (o EventOutcome) Mendable() bool { return slices.Contains(MendableOutcomes(), o) }

// EventEnd is how an event ended, as far as its workflow knows.
type EventEnd struct {
	EventID string
	Success bool // false: cancelled, or it could not be planned
	Outcome EventOutcome
	Problem string // the rows of the rules that named nobody; empty: none
	First   bool   // record it only if no end is recorded
}

// HeraldSource is the source name of Herald's own table, event_outbox.
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
	ExpiresAt     time.Time // zero: never
	CollapseKey   string    // it replaces older events of its type with the same key; empty: none
	Traceparent   string    // its producer's span in W3C's form; empty: none
	Published     bool      // RabbitMQ has its message

	Cancels     string         // the event that this event cancels; empty: none
	CancelledBy string         // the event that cancels this event; empty: none
	Answer      ApprovalAnswer // the answer to its approval; empty: none

	Actor   RecipientKey // whose act caused it; empty: unknown
	Exclude []string     // people who are not told: RESTAURANT_USER/10
}

// CancelledByEvent precedes the cancelling event's id.
const CancelledByEvent = "cancelled by event "

// CancelledBy is the reason not to send an event that another event cancels. Its deliveries store
// it in last_error.
func CancelledBy(eventID string) string { return CancelledByEvent + eventID }

// ReplacedByEvent precedes a newer event's id, in the last_error of a waiting delivery that the newer
// event replaced.
const ReplacedByEvent = "replaced by event "

// ApprovalAnswer is the answer to an event that needs approval. Empty: it waits.
type ApprovalAnswer string

// The answers of event_approval.
const (
	Approved ApprovalAnswer = "APPROVED"
	Rejected ApprovalAnswer = "REJECTED"
)

// Approval is a row of event_approval.
type Approval struct {
	AskedAt    time.Time      `json:"asked_at"`
	Answer     ApprovalAnswer `json:"answer"`
	AnsweredBy string         `json:"answered_by"`
	Reason     string         `json:"reason"`
	AnsweredAt *time.Time     `json:"answered_at"`
	Emitter    string         `json:"emitter"` // the HERALD_ACTOR of `starter emit`; empty: unknown
	ActorID    string         `json:"-"`       // event_outbox.actor_id; empty: unknown
}

// IsOf reports whether somebody caused the event, so that they cannot approve it.
func (a Approval) IsOf(name string) bool {
	return name != "" && (name == a.Emitter || name == a.ActorID)
}

const (
	// ApprovalWait is the time after which an event that nobody answered is rejected.
	ApprovalWait = 7 * 24 * time.Hour
	// ApprovalAlert is the time from Herald's alert to that rejection.
	ApprovalAlert = 24 * time.Hour
	// NobodyAnswered is the AnsweredBy of an event that was rejected after ApprovalWait.
	NobodyAnswered = "Herald"
	// MaxAnswerText limits the bytes of AnsweredBy and Reason.
	MaxAnswerText = 500
)

// NeedsApproval reports whether an event with so many recipients waits for approval.
func (s EventSetup) NeedsApproval(recipients int) bool {
	return s.ApprovalOver != nil && s.Event.Answer == "" && recipients > *s.ApprovalOver
}
