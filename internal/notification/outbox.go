package notification

// PendingEvent is a claimed row of event_outbox, as much of it as starting its
// workflow takes.
type PendingEvent struct {
	ID            string
	Type          string
	AggregateType string
	AggregateID   string
	CorrelationID string // empty: none
	Claims        int    // how often it was claimed, this claim included
	Processed     bool   // processed_event knows it: it must not be started again
}

// ClaimOutcome is what became of one claimed event.
type ClaimOutcome string

// The outcomes of a claim.
const (
	ClaimStarted  ClaimOutcome = "PROCESSED" // its workflow was started, now or earlier
	ClaimFailed   ClaimOutcome = "FAILED"    // it never can be
	ClaimReleased ClaimOutcome = "PENDING"   // Temporal was out of reach, or started nothing: as if it had never been claimed
	ClaimKept     ClaimOutcome = "KEPT"      // it could not be started; the lease runs out, then it is tried again
)

// ClaimResult ends the claim of one event.
type ClaimResult struct {
	EventID string
	Outcome ClaimOutcome
	Error   string // why it was not started; empty with ClaimStarted
}
