package operate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
)

// sentence is the text of a code. Detail and next hold arguments, such as {id}: see [Outcome.fill].
type sentence struct {
	done   bool   // the verb did it, or would do it
	result string // the same text for all outcomes of a kind
	detail string // about this delivery or event
	next   string // advice, if it was not done
}

const (
	showEvent  = "`starter event show {id}` shows what became of it"
	endedOrNew = "it has ended, or was not started yet"
	inTheTable = "only in the table, because it had no running workflow"
	noRecall   = "the sent message cannot be recalled"
	sentAt     = "{at}; a sent message cannot be recalled"
)

var sentences = map[Code]sentence{
	Failed: {result: "error", detail: "{error}"},

	WasSent:     {result: "was sent", detail: sentAt, next: "nobody can recall it; `starter delivery show {id}` shows its receipts"},
	WasSentOnce: {result: "was sent", detail: sentAt, next: "add --again to send it once more; the recipient gets it twice"},
	WasSentAndFollowed: {result: "was sent", detail: sentAt,
		next: "`starter delivery cancel {follower}` cancels the delivery that follows it"},
	HasFailed:    {result: "has failed", detail: "{error}", next: "correct the cause, then `starter delivery retry {id}`"},
	WasCancelled: {result: "was cancelled", detail: "{error}", next: "`starter delivery retry {id}` sends it after all"},
	IsWithdrawn:  {result: "is not to be sent", detail: "it was {by}", next: "`starter delivery retry {id} --again` sends it after all"},
	HasNoWorkflow: {result: "has no running workflow", detail: endedOrNew,
		next: "see its event; when the event has ended, `starter delivery retry {id}` sends it"},
	HasExpired: {result: "has expired", detail: "{at}", next: "`starter delivery retry {id} --again` sends it late"},
	IsToErased: {result: "is to a person who was erased", detail: "{at}",
		next: "they get no more messages; `starter recipient erase --help` explains it"},
	IsUnderWay: {result: "is under way", detail: "its workflow runs; it is {status} after {attempts} attempts",
		next: "`starter delivery why {id}` explains the wait; `starter delivery send-now {id}` sends it at once"},
	IsInBatch: {result: "is being sent in a batch", detail: "by the workflow {other}, as soon as it can be",
		next: "`starter delivery cancel {id}` still cancels it until it is sent; `starter delivery why {id}` shows its progress"},

	WouldBeCancelled:        {done: true, result: "would be cancelled"},
	WouldBeCancelledInTable: {done: true, result: "would be cancelled", detail: inTheTable},
	Cancelled:               {done: true, result: "cancelled", detail: "{attempt}"},
	CancelledInTable:        {done: true, result: "cancelled", detail: inTheTable + "{attempt}"},
	CancelledBeforeWorkflow: {done: true, result: "cancelled", detail: "in the table, because its workflow has not ended it{attempt}"},
	CancellationAccepted: {done: true, result: "cancellation accepted",
		detail: "an attempt is under way; `starter delivery show {id}` shows how it ends"},
	EscalationWouldEnd: {done: true, result: "its escalation would end", detail: noRecall},
	EscalationEnded:    {done: true, result: "its escalation has ended", detail: "nothing follows; " + noRecall},
	WouldBeRetried:     {done: true, result: "would be retried", detail: "it is {status}{waits}"},
	Started:            {done: true, result: "started", detail: "`starter delivery show {id}` shows how it ends{waits}"},
	Sent:               {done: true, result: "sent", detail: "{at}"},
	WouldBeSignalled:   {done: true, result: "would be signalled", detail: "{signal}{quiet}"},
	SendingNow:         {done: true, result: "sending now"},
	Rescheduled:        {done: true, result: "rescheduled", detail: "waits until {due}{quiet}"},

	EventWouldBeCancelled:     {done: true, result: "would be cancelled", detail: "its workflow runs{cancels}"},
	EventCancelled:            {done: true, result: "cancelled", detail: "{deliveries}"},
	EventCancellationAccepted: {done: true, result: "cancellation accepted", detail: "{deliveries}; " + showEvent},
	EventWouldBeWithdrawn:     {done: true, result: "would be withdrawn", detail: "it was not started yet{cancels}"},
	EventWithdrawn:            {done: true, result: "withdrawn", detail: "it was not started; `starter event retry {id}` brings it back"},
	EventEnded:                {result: "has ended", detail: "{deliveries}", next: showEvent},
	EventEndedEarly:           {result: "was cancelled, or has failed", detail: "{deliveries}", next: showEvent},
	EventNeverStarted:         {result: "was never started", detail: "{error}", next: showEvent},
	EventNotRunning:           {result: "has no running workflow", detail: "{deliveries}", next: "`starter event retry {id}` starts it again"},

	EventPurged:     {result: "cannot be retried", detail: "its row in event_outbox was purged", next: showEvent},
	EventIncomplete: {result: "is incomplete", detail: "within 10 minutes, the sweep starts its PENDING deliveries again", next: showEvent},
	EventSucceeded: {result: "has succeeded",
		detail: "it told everybody that the rules named; `starter delivery retry` repeats single deliveries", next: showEvent},
	EventCompleted: {result: "has succeeded", detail: "`starter delivery retry` repeats single deliveries", next: showEvent},
	EventCancelledByAnother: {result: "cannot be retried",
		detail: "{by}; `starter delivery retry ID --again` sends a single delivery after all", next: showEvent},
	EventUnderWay:            {result: "is under way", detail: "its workflow runs", next: showEvent},
	EventRejected:            {result: "was rejected", detail: "write another event, which asks for approval again", next: showEvent},
	EventPending:             {result: "is pending", detail: "a poller will start it", next: showEvent},
	EventCancelledByOperator: {result: "was cancelled", detail: "name it to retry it", next: showEvent},
	EventEndPurged:           {result: "has ended", detail: "its row in processed_event was purged", next: showEvent},
	EventOfUnknownSource:     {result: "cannot be planned again here", detail: "{error}", next: "set OUTBOX_SOURCES as the workers have it"},
	EventChangedMeanwhile:    {result: "changed meanwhile", next: showEvent},
	EventWouldBeRetried:      {done: true, result: "would be retried"},
	EventRetried:             {done: true, result: "is pending again", detail: "{stay}"},
	EventWouldBePlanned:      {done: true, result: "would be planned again"},
	EventPlanned:             {done: true, result: "is planned again"},

	NeedsNoApproval:    {result: "does not wait for approval", next: showEvent},
	WasAnswered:        {result: "was answered", detail: "{answer}", next: showEvent},
	ApprovalEnded:      {result: "has ended", next: showEvent},
	IsOwnEvent:         {result: "was caused by you", detail: "somebody else has to approve it"},
	ApprovalNotRunning: {result: "has no running workflow", detail: endedOrNew, next: "`starter event retry {id}` starts it again"},
	WouldBeApproved:    {done: true, result: "would be APPROVED"},
	WouldBeRejected:    {done: true, result: "would be REJECTED"},
	Approved:           {done: true, result: "APPROVED"},
	Rejected:           {done: true, result: "REJECTED"},
	AnswerNotStored: {result: "is not answered yet", detail: "its workflow has the answer, and stores it when a worker runs",
		next: "`starter event show {id}`"},
}

// Done reports whether the verb made its change, or would make it.
func (o Outcome) Done() bool { return sentences[o.Code].done }

// Result returns the text that all outcomes of a kind have.
func (c Code) Result() string { return sentences[c].result }

// Detail returns the details of this delivery or event.
func (o Outcome) Detail() string { return o.fill(sentences[o.Code].detail) }

// Next returns the operator's next step, if the verb was not done.
func (o Outcome) Next() string { return o.fill(sentences[o.Code].next) }

// String returns the outcome as one sentence.
func (o Outcome) String() string {
	if detail := o.Detail(); detail != "" {
		return o.Code.Result() + ": " + detail
	}
	return o.Code.Result()
}

// MarshalJSON writes the outcome as scripts read it.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID     string `json:"id"`
		Done   bool   `json:"done"`
		Result string `json:"result"`
		Detail string `json:"detail,omitempty"`
	}{o.ID, o.Done(), o.Code.Result(), o.Detail()})
}

// fill replaces the arguments in a text. A text may begin with an argument that continues others.
func (o Outcome) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	reason := o.Error
	if o.Err != nil {
		reason = o.Err.Error()
	}
	id, due := advice.Quote(o.ID), notification.InstantText(o.Due)
	filled := strings.NewReplacer(
		"{id}", id, "{other}", o.Other, "{follower}", advice.Quote(o.Other), "{by}", o.By, "{error}", reason,
		"{at}", clock(o.At), "{due}", due, "{status}", string(o.Status), "{attempts}", strconv.Itoa(o.Attempts),
		"{signal}", o.Signal, "{quiet}", o.Quiet, "{deliveries}", deliveriesText(o.Counts), "{answer}", answerText(o.Approval),
		"{waits}", when(!o.Due.IsZero(), "; it waits until its due time, %s; `starter delivery send-now %s` sends it now", due, id),
		"{attempt}", when(o.UnderWay, "; an attempt is under way: if the provider accepts the message, it is sent"),
		"{cancels}", when(o.Other != "", "; event %s, which it cancels, stays cancelled", o.Other),
		"{stay}", when(o.Counts[notification.Cancelled] > 0,
			"%d of its deliveries stay cancelled; `starter delivery retry --event %s --status CANCELLED` sends them after all",
			o.Counts[notification.Cancelled], id),
	).Replace(text)
	return strings.TrimPrefix(filled, "; ")
}

// when returns a part of a sentence, if the condition holds.
func when(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// deliveriesText counts an event's deliveries by status, such as "of its deliveries 3 cancelled; 2
// sent, and stay sent".
func deliveriesText(counts map[notification.Status]int) string {
	if text := notification.CountsText(counts); text != "" {
		return "of its deliveries " + text
	}
	return "it has no deliveries"
}

// answerText returns "APPROVED by ada, at 2026-11-22 10:00:05.000Z".
func answerText(a notification.Approval) string {
	return fmt.Sprintf("%s by %s, at %s", a.Answer, a.AnsweredBy, clock(a.AnsweredAt))
}

func clock(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return notification.InstantText(*t)
}

// Reasons counts the skipped items by the text of their outcome, which several codes share.
func (s Skips) Reasons() map[string]int {
	reasons := map[string]int{}
	for code, count := range s {
		reasons[code.Result()] += count
	}
	return reasons
}

// MarshalJSON writes the reasons.
func (s Skips) MarshalJSON() ([]byte, error) { return json.Marshal(s.Reasons()) }
