package operate

import (
	"time"

	"herald/internal/notification"
)

// Outcome is the result for one delivery or event: a code, and the arguments of its sentence.
// Terminal and console write the sentence, see sentence.go.
type Outcome struct {
	ID   string
	Code Code
	Args
	Err error // why the verb could not be tried
}

// Args are the arguments of a sentence. Each sentence uses some of them.
type Args struct {
	At       *time.Time          // when it was sent, when it expired, or when the person was erased
	Due      time.Time           // until when a delivery waits; zero: it does not wait
	Status   notification.Status // of a delivery
	Attempts int                 // at a delivery
	UnderWay bool                // an attempt at a delivery is under way
	Signal   string              // its name
	Quiet    string              // see [notification.QuietCheck.Ahead]
	Error    string              // why a delivery or an event ended as it did
	By       string              // what withdrew a delivery, such as "replaced by event evt-2"
	Other    string              // the id of another delivery, event or workflow
	Counts   map[notification.Status]int
	Approval notification.Approval
}

// Code tells what a verb did, what a dry run expects, or why a verb changes nothing.
type Code int

// The codes of deliveries, and then of events.
const (
	Failed Code = iota + 1 // the verb could not be tried

	WasSent
	WasSentOnce        // a retry with --again would send it twice
	WasSentAndFollowed // by a delivery of its escalation
	HasFailed
	WasCancelled
	IsWithdrawn // by another event
	HasNoWorkflow
	HasExpired
	IsToErased
	IsUnderWay
	IsInBatch

	WouldBeCancelled
	WouldBeCancelledInTable
	Cancelled
	CancelledInTable        // no workflow ran
	CancelledBeforeWorkflow // the workflow did not end in time
	CancellationAccepted
	EscalationWouldEnd
	EscalationEnded
	WouldBeRetried
	Started
	Sent
	WouldBeSignalled
	SendingNow
	Rescheduled

	EventWouldBeCancelled
	EventCancelled
	EventCancellationAccepted
	EventWouldBeWithdrawn
	EventWithdrawn
	EventEnded
	EventEndedEarly // it was cancelled, or has failed
	EventNeverStarted
	EventNotRunning

	EventPurged
	EventIncomplete
	EventSucceeded
	EventCompleted // its workflow has succeeded
	EventCancelledByAnother
	EventUnderWay
	EventRejected
	EventPending
	EventCancelledByOperator // a bulk retry leaves it out
	EventEndPurged
	EventOfUnknownSource
	EventChangedMeanwhile
	EventWouldBeRetried
	EventRetried
	EventWouldBePlanned
	EventPlanned

	NeedsNoApproval
	WasAnswered
	ApprovalEnded
	IsOwnEvent
	ApprovalNotRunning
	WouldBeApproved
	WouldBeRejected
	Approved
	Rejected
	AnswerNotStored
)
