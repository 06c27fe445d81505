package notification

import (
	"time"
)

// PendingEvent is a claimed row of event_outbox, with the fields that the start of its workflow
// needs.
type PendingEvent struct {
	ID            string
	Source        string // the outbox of the event
	Type          string
	AggregateType string
	AggregateID   string
	CorrelationID string // empty: none
	Cancels       string // the event that it cancels; empty: none
	Traceparent   string // its producer's span in W3C's form, perhaps invalid; empty: none
	Claims        int    // number of claims, including this one
	Processed     bool   // processed_event has it: do not start it again
	Published     bool   // RabbitMQ has its message
	Again         bool   // its deliveries are sent again although their workflows completed, if their rows are open
}

// ClaimOutcome is the result for one claimed event.
type ClaimOutcome string

// The outcomes of a claim. The metrics use the same names.
const (
	ClaimStarted  ClaimOutcome = "STARTED"  // its workflow was started, now or earlier
	ClaimFailed   ClaimOutcome = "FAILED"   // its workflow can never be started
	ClaimReleased ClaimOutcome = "RELEASED" // Temporal was unreachable or started nothing: the claim does not count
	ClaimKept     ClaimOutcome = "KEPT"     // it could not be started; it is retried when the lease expires
)

// ClaimResult is the end of one event's claim.
type ClaimResult struct {
	EventID string
	Outcome ClaimOutcome
	Error   string // why it was not started; empty with ClaimStarted
}

// OutboxState is the backlog of the outbox.
type OutboxState struct {
	Pending       int           `json:"pending"` // counted up to a bound
	Failed        int           `json:"failed"`  // also events of other outboxes; counted up to a bound
	OldestPending time.Duration `json:"-"`       // age, by the database's clock; zero: nothing is pending
}

// StuckEvent is an event that has been PROCESSING for a long time.
type StuckEvent struct {
	PendingEvent
	Restarts   int       // number of restarts by the sweep
	Purged     bool      // its row in event_outbox is gone, so it cannot be planned
	ReopenedAt time.Time // when an operator had it planned anew; zero: never
}

// StuckDelivery is a delivery that has been PENDING for a long time.
type StuckDelivery struct {
	Delivery
	ID        int64 // notification.id
	EventID   string
	EventType string
	Aggregate Entity // zero: the event's row was purged
	Restarts  int    // number of restarts by the sweep

	Retried        bool      // an operator retried it: no event's workflow sends it
	ReopenedAt     time.Time // when the last retry began; zero: none
	Ordered, Again bool      // as the operator's retry
	AttemptsBefore int       // before that retry
}

// StuckScan selects rows that should have a workflow.
type StuckScan struct {
	Age      time.Duration // since the row was planned, or its event started, at least
	From, To time.Time     // the row waits for a time from From until before To; zero: no limit. Due counts as past.
	Limit    int           // of rows
}

// Sweep is the result of one sweep. The zero value: no sweep has run.
type Sweep struct {
	At           time.Time `json:"at,omitzero"`
	Looked       int       `json:"looked"` // events and deliveries whose workflow it looked up
	StartedAgain int       `json:"started_again"`
	Closed       int       `json:"closed"` // CANCELLED, because an operator ended the workflow
	Failed       int       `json:"failed"` // restarted up to the limit without success
	// Ambiguous counts open events and deliveries whose workflow completed: Postgres has lost their end, and
	// their message may have been sent.
	Ambiguous int `json:"ambiguous,omitempty"`

	AfterEvent        string `json:"after_event,omitempty"`        // where the next sweep continues; empty: at the beginning
	AfterNotification int64  `json:"after_notification,omitempty"` // 0: at the beginning

	AfterWaitingEvent string `json:"after_waiting_event,omitempty"` // for events that wait by design; empty: at the beginning

	ReceiptsTo *time.Time `json:"receipts_to,omitempty"` // when the last receipt that was counted came; nil: none was counted
}

// Restored is the result of a restore, and its progress.
type Restored struct {
	Sweep // what was looked up, and what became of it

	Events     int `json:"events"`     // open events at the begin
	Deliveries int `json:"deliveries"` // open deliveries of other events at the begin

	MissingEvents     int      `json:"missing_events"`        // of a check: open, but their workflow does not run
	MissingDeliveries int      `json:"missing_deliveries"`    // likewise
	MissingIDs        []string `json:"missing_ids,omitempty"` // the first of both

	AmbiguousIDs []string `json:"ambiguous_ids,omitempty"` // the first ambiguous rows
	Resent       int      `json:"resent,omitempty"`        // ambiguous rows whose workflow was started again
	Dropped      int      `json:"dropped,omitempty"`       // ambiguous rows that were ended, and not sent again

	Pass  int       `json:"pass,omitempty"` // passes over the tables that have ended
	Began time.Time `json:"began,omitzero"`
}

// Resend is an operator's order about ambiguous rows.
type Resend string

// The orders about ambiguous rows. Without one they stay as they are.
const (
	ResendAmbiguous Resend = "AMBIGUOUS" // send them again: some people get a message twice
	ResendNone      Resend = "NONE"      // end them
)

// Resends returns every [Resend].
func Resends() []Resend { return []Resend{ResendAmbiguous, ResendNone} }

// maxMissingIDs limits the ids of each kind in [Restored].
const maxMissingIDs = 20

// AddAmbiguous counts an ambiguous row, and adds its id if there is room for it.
func (r *Restored) AddAmbiguous(id string) {
	r.Ambiguous++
	if len(r.AmbiguousIDs) < maxMissingIDs {
		r.AmbiguousIDs = append(r.AmbiguousIDs, id)
	}
}

// AddMissing adds the id of a row whose workflow does not run, if there is room for it.
func (r *Restored) AddMissing(id string) {
	if len(r.MissingIDs) < maxMissingIDs {
		r.MissingIDs = append(r.MissingIDs, id)
	}
}

// Republished is the progress of publishing the messages of events to RabbitMQ again.
type Republished struct {
	Events  int `json:"events"`  // published again
	Refused int `json:"refused"` // RabbitMQ does not take their message any more

	After EventPlace `json:"after,omitzero"` // the last of them
}

// EventPlace is the place of an event in the order of their writing.
type EventPlace struct {
	CreatedAt time.Time
	Seq       int64
}

// PublishedEvent is an event whose message RabbitMQ has had.
type PublishedEvent struct {
	ID string
	EventPlace
}
