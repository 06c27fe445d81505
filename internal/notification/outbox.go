package notification

import "time"

// PendingEvent is a claimed row of event_outbox, as much of it as starting its
// workflow takes.
type PendingEvent struct {
	ID            string
	Source        string // where it was claimed; empty: [HeraldSource]
	Type          string
	AggregateType string
	AggregateID   string
	CorrelationID string // empty: none
	Cancels       string // the event that it takes back; empty: none
	Claims        int    // how often it was claimed, this claim included
	Processed     bool   // processed_event knows it: it must not be started again
	Published     bool   // its message was published by a run that has completed
}

// ClaimOutcome is what became of one claimed event.
type ClaimOutcome string

// The outcomes of a claim, as the metrics name them too.
const (
	ClaimStarted  ClaimOutcome = "STARTED"  // its workflow was started, now or earlier
	ClaimFailed   ClaimOutcome = "FAILED"   // its workflow can never be started
	ClaimReleased ClaimOutcome = "RELEASED" // Temporal was out of reach, or started nothing: the claim does not count
	ClaimKept     ClaimOutcome = "KEPT"     // it could not be started; it is tried again when the lease runs out
)

// ClaimResult ends the claim of one event.
type ClaimResult struct {
	EventID string
	Outcome ClaimOutcome
	Error   string // why it was not started; empty with ClaimStarted
}

// OutboxState is how far behind the outbox is.
type OutboxState struct {
	Pending       int           `json:"pending"` // counted up to a bound
	Failed        int           `json:"failed"`  // likewise
	OldestPending time.Duration `json:"-"`       // age, by the database's clock; zero: nothing is pending
}
