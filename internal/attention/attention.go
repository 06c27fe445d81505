// Package attention tells what needs a person now: what is late or fails, whose fault it is, and how
// many people wait. It has codes and arguments. The console writes the sentences.
package attention

import (
	"time"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
)

// Fault is the party that can correct a finding.
type Fault string

// The faults of findings.
const (
	Provider Fault = "PROVIDER" // it does not answer, or is busy
	Account  Fault = "ACCOUNT"  // our account at the provider
	Rules    Fault = "RULES"    // rules, texts, the directory
	Data     Fault = "DATA"     // an address or a text that the provider refused
	Producer Fault = "PRODUCER" // another service: its database, its rows
	Herald   Fault = "HERALD"   // its processes and settings, Temporal, Postgres
	Operator Fault = "OPERATOR" // somebody ordered it, or has to decide
	Unknown  Fault = "UNKNOWN"  // only an error text tells
)

// Code is a kind of finding.
type Code string

// The kinds of findings.
const (
	TemporalAway     Code = "TEMPORAL_AWAY"     // nothing is known about the pollers
	NoPoller         Code = "NO_POLLER"         // of Source
	PollerFails      Code = "POLLER_FAILS"      // Subject, of Source
	PollerPaused     Code = "POLLER_PAUSED"     // Subject, of Source
	NoWorker         Code = "NO_WORKER"         // no worker serves events
	LateEvents       Code = "LATE_EVENTS"       // of Herald's outbox
	UnplannedEvents  Code = "UNPLANNED_EVENTS"  // started, but without a decision; Subject is the oldest
	SourceAway       Code = "SOURCE_AWAY"       // the database of Source; Detail
	CircuitOpen      Code = "CIRCUIT_OPEN"      // of Subject, a provider of Channel; Detail
	ProviderPaused   Code = "PROVIDER_PAUSED"   // Subject, a provider of Channel; Detail
	SenderPaused     Code = "SENDER_PAUSED"     // optional messages of Sender at Subject, over Channel; Detail
	LateDeliveries   Code = "LATE_DELIVERIES"   // over Channel; Outcome, Status
	FailedDeliveries Code = "FAILED_DELIVERIES" // over Channel by Subject; Outcome, Status
	BouncedByReceipt Code = "RECEIPTS_FAILED"   // over Channel by Subject
	NoTexts          Code = "NO_TEXTS"          // over Channel
	FailedEvents     Code = "FAILED_EVENTS"     // cannot be started
	LateRows         Code = "LATE_ROWS"         // of Source, another service's outbox
	FailedRows       Code = "FAILED_ROWS"       // cannot be relayed; of Source
	TopicsRest       Code = "TOPICS_REST"       // of Source
	EndedEarly       Code = "ENDED_EARLY"       // events whose workflows failed; Event is their outcome
	UntoldEvents     Code = "UNTOLD_EVENTS"     // Event is their outcome
	AmbiguousRows    Code = "AMBIGUOUS_ROWS"
	StaleSweep       Code = "STALE_SWEEP"
	LateFollowUps    Code = "LATE_FOLLOW_UPS"
	Approvals        Code = "APPROVALS"
)

// Codes returns every kind of finding.
func Codes() []Code {
	return []Code{
		TemporalAway, NoPoller, PollerFails, PollerPaused, NoWorker, LateEvents, UnplannedEvents, SourceAway,
		CircuitOpen, ProviderPaused, SenderPaused, LateDeliveries, FailedDeliveries, BouncedByReceipt, NoTexts,
		FailedEvents, LateRows, FailedRows, TopicsRest, EndedEarly, UntoldEvents, AmbiguousRows, StaleSweep,
		LateFollowUps, Approvals,
	}
}

// Finding is one thing that needs a person.
type Finding struct {
	Code    Code
	Fault   Fault
	Since   time.Time // zero: unknown
	Count   int       // of events, deliveries or rows; 0: unknown
	People  int       // who wait or got nothing; 0: unknown
	Channel notification.Channel
	Source  string
	Subject string                      // the name of a provider or a poller, or the id of an event
	Sender  string                      // such as EMAIL_FROM
	Outcome notification.AttemptOutcome // of the last attempts
	Status  int                         // HTTP status of the last answers; 0: none
	Event   notification.EventOutcome
	Detail  string // words of a server or a person, for people only
}

// State holds the figures that [Find] reads.
type State struct {
	Now          time.Time
	Outbox       notification.OutboxState
	FollowUps    notification.FollowUpState
	Sweep        notification.Sweep
	Sources      []operate.SourceState
	Awaiting     []report.AwaitingEvent
	Providers    []operate.ProviderView
	Pollers      operate.Pollers
	PollersKnown bool // false: Temporal did not answer
	Unplanned    report.UnplannedEvents
	Late         []report.AttemptGroup
	Failed       []report.AttemptGroup // of the last day
	Ended        []report.OutcomeCount // of the last day: events that missed people
}

const (
	// lateAfter is the age from which a pending event or follow-up is late.
	lateAfter = time.Minute
	// staleAfter is the age from which the last sweep is overdue. A sweep runs every ten minutes.
	staleAfter = 30 * time.Minute
	// unneededAfter is the time after which a provider whose probe is due counts no longer: nobody has
	// needed it since.
	unneededAfter = 5 * time.Minute
)
