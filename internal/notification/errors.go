package notification

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrNoEvent means that event_outbox has no such row, or no longer.
var ErrNoEvent = errors.New("no such event in event_outbox")

// ErrEnded means that an end of the event is recorded already, where only the first was to be.
var ErrEnded = errors.New("an end of the event is recorded already")

// ErrNoDelivery means that notification has no such row, or no longer.
var ErrNoDelivery = errors.New("no such delivery in notification")

// IDTakenError means that another workflow has the id of one that Herald wants to start.
type IDTakenError struct {
	WorkflowType string // of the workflow that has it
	TaskQueue    string
}

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("the id is taken by the workflow %s of task queue %s", e.WorkflowType, e.TaskQueue)
}

// NotConfiguredError means that a worker has no settings for a channel.
type NotConfiguredError struct {
	Channel Channel
	Why     error // names the settings that are missing
}

func (e *NotConfiguredError) Error() string {
	return fmt.Sprintf("%s is not configured on this worker, and nobody was asked: %v", e.Channel, e.Why)
}

// FailureClass says what a failure means for the next attempt.
type FailureClass string

// The classes of failure, after the table in the providers' documentation.
const (
	Refused   FailureClass = "Refused"   // never accepted: the message or its recipient is at fault
	Busy      FailureClass = "Busy"      // not processed: the provider asked us to come back later
	Account   FailureClass = "Account"   // our credentials or our account are at fault, not the recipient
	Ambiguous FailureClass = "Ambiguous" // no usable answer: the message may have been sent
)

// failureTable has one row for each class.
var failureTable = map[FailureClass]failureRow{
	Refused:   {"refused", OutcomeRefused},
	Busy:      {"is busy", OutcomeBusy},
	Account:   {"rejected our account", OutcomeAccount},
	Ambiguous: {"gave no clear answer", OutcomeAmbiguous},
}

type failureRow struct {
	verb    string // what the provider did
	outcome AttemptOutcome
}

// row is the class's row; of a class that does not exist, that of [Ambiguous].
func (c FailureClass) row() failureRow {
	if row, known := failureTable[c]; known {
		return row
	}
	return failureTable[Ambiguous]
}

// Outcome is the class as an attempt's outcome.
func (c FailureClass) Outcome() AttemptOutcome { return c.row().outcome }

// ClassOf returns what an HTTP status other than 2xx means. A 2xx without the
// body that it should have is [Ambiguous] as well, which only its sender can tell.
func ClassOf(status int) FailureClass {
	switch {
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

// ProviderError is a failed attempt, as its provider reports it. It never holds
// an address, a token, a text or a URL.
type ProviderError struct {
	Provider   string // sendgrid, twilio, fcm, slack, rabbitmq
	Class      FailureClass
	Status     int           // HTTP status; 0: there was no answer
	Code       string        // the provider's own code, or a short cause such as "timeout"; may be empty
	Unasked    bool          // the provider was not asked, since it would never accept the message
	RetryAfter time.Duration // what the provider asked for; 0: nothing

	Suppress SuppressionReason // nothing more is to be sent to the address, for this reason; empty: it may
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
