package notification

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrNoEvent means that event_outbox has no such row, or that the row was deleted.
var ErrNoEvent = errors.New("no such event in event_outbox")

// ErrEnded means that the end of the event is already recorded, and only the first end counts.
var ErrEnded = errors.New("an end of the event is recorded already")

// ErrNoDelivery means that notification has no such row, or that the row was deleted.
var ErrNoDelivery = errors.New("no such delivery in notification")

// IDTakenError means that another workflow already uses a workflow ID that Herald needs.
type IDTakenError struct {
	WorkflowType string // of the other workflow
	TaskQueue    string
}

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("the id is taken by the workflow %s of task queue %s", e.WorkflowType, e.TaskQueue)
}

// NotConfiguredError means that a worker has no settings for a channel.
type NotConfiguredError struct {
	Channel Channel
	Why     error // names the missing settings
}

func (e *NotConfiguredError) Error() string {
	return fmt.Sprintf("%s is not configured on this worker, so no provider was called: %v", e.Channel, e.Why)
}

// FailureClass tells what a failure means for the next attempt.
type FailureClass string

// The classes of failure, according to the providers' documentation.
const (
	Refused     FailureClass = "Refused"     // never accepted: the message or its recipient is wrong
	Busy        FailureClass = "Busy"        // not accepted: the provider asks us to come back later
	Unreachable FailureClass = "Unreachable" // not accepted: there was no connection
	Unavailable FailureClass = "Unavailable" // not accepted: the provider is out of order
	Account     FailureClass = "Account"     // not accepted: our credentials or our account are wrong, not the recipient
	Ambiguous   FailureClass = "Ambiguous"   // no usable answer: the provider may have sent the message
)

// failureTable has one row for each class.
var failureTable = map[FailureClass]failureRow{
	Refused:     {verb: "refused", outcome: OutcomeRefused},
	Busy:        {verb: "is busy", outcome: OutcomeBusy, passesOn: true, outage: true},
	Unreachable: {verb: "was out of reach", outcome: OutcomeUnreachable, passesOn: true, outage: true},
	Unavailable: {verb: "is unavailable", outcome: OutcomeUnavailable, passesOn: true},
	Account:     {verb: "rejected our account", outcome: OutcomeAccount, passesOn: true},
	Ambiguous:   {verb: "gave no clear answer", outcome: OutcomeAmbiguous},
}

type failureRow struct {
	verb     string // what the provider did
	outcome  AttemptOutcome
	passesOn bool // another provider may get the message: this provider did not take it, and the message is not the cause
	outage   bool // during an outage, the attempt does not count
}

// row returns the class's row. An unknown class gets the row of [Ambiguous].
func (c FailureClass) row() failureRow {
	if row, known := failureTable[c]; known {
		return row
	}
	return failureTable[Ambiguous]
}

// Outcome returns the attempt outcome of the class.
func (c FailureClass) Outcome() AttemptOutcome { return c.row().outcome }

// PassesOn reports whether another provider may get the message.
func (c FailureClass) PassesOn() bool { return c.row().passesOn }

// IsOutage reports whether the provider certainly did not accept the message, and may accept it later.
// Such attempts do not count until the outage has lasted too long.
func (c FailureClass) IsOutage() bool { return c.row().outage }

// IsOutage reports whether an attempt with this outcome does not count during an outage: see
// [FailureClass.IsOutage].
func (o AttemptOutcome) IsOutage() bool {
	for _, row := range failureTable {
		if row.outcome == o {
			return row.outage
		}
	}
	return false
}

// ClassOf classifies an HTTP status outside 2xx. An answer that names the time of the next attempt
// was not processed. A 2xx without the expected body is [Ambiguous] too, but only the sender can
// detect it.
func ClassOf(status int, retryAfter time.Duration) FailureClass {
	switch {
	case status >= 500 && retryAfter > 0:
		return Busy
	case status == http.StatusServiceUnavailable:
		return Unavailable
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return Busy
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Account
	case status >= 400 && status < 500:
		return Refused
	default:
		return Ambiguous
	}
}

// ProviderError is a failed attempt, as its provider reports it. It never contains an address, a
// token, a text or a URL.
type ProviderError struct {
	Provider   string // as in package wiring
	Class      FailureClass
	Status     int           // HTTP status; 0: no answer
	Code       string        // the provider's code, or a short cause such as "timeout"; may be empty
	Unasked    bool          // Herald did not call the provider, because it would never accept the message
	Theirs     bool          // the recipient's own server failed, which says nothing about other recipients
	Elsewhere  bool          // another provider may take the message when its outage ends
	RetryAfter time.Duration // the provider's request; 0: none

	Suppress SuppressionReason // why nothing more may be sent to the address; empty: sending is allowed
}

func (e *ProviderError) Error() string {
	verb := e.Class.row().verb
	if e.Unasked {
		verb = "was not asked"
	}
	text := e.Provider + " " + verb
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("%s: %d %s", text, e.Status, e.Code)
	case e.Status != 0:
		return fmt.Sprintf("%s: %d", text, e.Status)
	case e.Code != "":
		return fmt.Sprintf("%s: %s", text, e.Code)
	default:
		return text
	}
}
