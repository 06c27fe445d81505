package explain

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/report"
)

// state is a row of a table of states. It holds if each of its fields does; an empty field always
// holds. The first row that holds counts.
type state struct {
	outbox   notification.OutboxStatus
	event    notification.ProcessedStatus
	outcome  notification.EventOutcome // of an event that can be planned again
	delivery notification.Status
	workflow string // status of the delivery's workflow
	sending  string // state of the attempt that is under way or due
	attempt  notification.AttemptOutcome
	when     func(moment) bool

	says string  // with the words of [moment.words]
	then []state // says more, instead
}

func (s state) holds(m moment) bool {
	return fits(s.outbox, m.outbox.Status) && fits(s.event, m.processed.Status) && fits(s.outcome, m.outcome()) &&
		fits(s.delivery, m.delivery.Status) && fits(s.workflow, m.workflow.Status) && fits(s.sending, m.send.State) &&
		fits(s.attempt, m.last.Outcome) && (s.when == nil || s.when(m))
}

func fits[T ~string](wanted, found T) bool { return wanted == "" || wanted == found }

// moment holds the facts that states look at.
type moment struct {
	why       Why
	now       time.Time
	outbox    report.LeasedRow      // zero: the event was purged
	processed report.ProcessedRow   // zero: the event was not started yet
	delivery  report.DeliveryDetail // zero: none was planned
	workflow  Sending               // of the delivery
	sender    Sending               // the workflow that makes its attempts: its digest, its batch, or its own

	send     PendingActivity   // the attempt that is under way or due; zero: none
	last     report.AttemptRow // zero: none was made yet
	number   int               // of the next attempt
	rejected bool              // the provider rejects our account
	outage   time.Time         // the start of an outage, during which attempts do not count; zero: none
}

func newMoment(w Why, now time.Time) moment {
	m := moment{
		why: w, now: now, number: 1,
		outbox: value(w.Outbox), processed: value(w.Processed), delivery: value(w.Delivery), workflow: value(w.Workflow),
	}
	m.sender = value(cmp.Or(m.workflow.Digest, m.workflow.Batch, &m.workflow))
	m.send = value(cmp.Or(m.sender.PendingSend(), m.sender.nextSend(len(m.delivery.Log) > 0)))
	var since time.Time
	for _, m.last = range m.delivery.Log {
		if m.last.Attempt <= m.workflow.Before || m.last.EndedAt == nil || m.last.Outcome == notification.OutcomeLost {
			continue
		}
		m.rejected, m.outage = m.last.Outcome == notification.OutcomeAccount, time.Time{}
		if m.last.Outcome.IsOutage() {
			since = cmp.Or(since, m.last.StartedAt)
			if m.last.StartedAt.Sub(since) < m.sender.Outage {
				m.outage = since
				continue
			}
		}
		// A rejected account, an error and a channel that is off use up no attempt.
		if !m.rejected && m.last.Outcome != notification.OutcomeError && m.last.Outcome != notification.OutcomeOff {
			m.number++
		}
	}
	return m
}

// value returns what a pointer points to; zero: it is nil.
func value[T any](of *T) (v T) {
	if of != nil {
		v = *of
	}
	return v
}

// meaning tells why the decision was taken, or why there is none.
func (m moment) meaning(userType notification.UserType, throttledBy string) string {
	if m.why.Undecided() {
		return m.tell(whyUndecided)
	}
	return strings.TrimSuffix(m.why.Decision.Meaning(m.why.Channel, userType)+": "+throttledBy, ": ")
}

// next returns what happens next, and what an operator can do about it.
func (m moment) next() string {
	if m.why.Delivery == nil {
		return m.tell(nextUnplanned)
	}
	text := m.tell(nextOfDelivery)
	if says := m.why.Escalation.Says(); says != "" {
		text += ". Escalation: " + says
	}
	return text
}

// tell returns the sentence of the first state that holds.
func (m moment) tell(states []state) string {
	s := states[slices.IndexFunc(states, func(s state) bool { return s.holds(m) })]
	if s.then != nil {
		return m.tell(s.then)
	}
	words := m.words()
	return os.Expand(s.says, func(word string) string { return words[word] })
}

// outcome is the outcome of an event that can be planned again; else empty.
func (m moment) outcome() notification.EventOutcome {
	if m.why.Outbox == nil || m.outbox.CancelledBy != "" {
		return ""
	}
	return m.processed.Outcome
}

// waits reports whether the delivery's send time is still to come.
func (m moment) waits() bool {
	return m.delivery.SendAfter != nil && m.now.Before(*m.delivery.SendAfter)
}

// cancelled reports whether another event cancelled the event before it succeeded.
func (m moment) cancelled() bool {
	return m.outbox.CancelledBy != "" && m.processed.Status != notification.ProcessedSuccess
}

// dropped tells why the delivery was dropped when its wait ended; empty: it was not.
func (m moment) dropped() string {
	return notification.DroppedMeaning(m.delivery.LastError, m.delivery.Channel, m.delivery.UserType)
}

// remedy returns the change without which a dropped delivery is dropped again; empty: none.
func (m moment) remedy() string {
	return notification.DroppedRemedy(m.delivery.LastError, m.delivery.Channel)
}

// senderPaused reports whether the next attempt waits because the optional messages of the sender are
// paused.
func (m moment) senderPaused() bool { return m.send.FailureType == activities.SenderPaused }

// suppressed reports whether the recipient's address is suppressed now.
func (m moment) suppressed() bool {
	return slices.ContainsFunc(m.why.Rules.Findings, func(f notification.Finding) bool {
		return f.Applies && f.Decision == notification.DecisionSuppressed
	})
}
