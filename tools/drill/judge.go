package main

import (
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/tools/rig"
	"herald/tools/sandbox"
)

// evidence is everything that the judge compares. Events comes from the drill itself, and Ledger from the
// sandbox. The other fields must agree with these two.
type evidence struct {
	Events []*rig.Event
	Ledger []sandbox.Entry

	Rows       map[string]eventRow
	Deliveries map[string]deliveryRow
	Open       []string        // ids of open workflows of the run's events
	Published  map[string]int  // the messages that RabbitMQ has, by event id
	Topic      map[string]bool // ids of the deliveries that the topic reports as sent; nil: no topic
}

// eventRow holds an event's columns in Herald's tables.
type eventRow struct{ Outbox, Processed, Outcome string }

// deliveryRow holds a delivery's row and counts of its attempts.
type deliveryRow struct {
	Status notification.Status
	// Calls is the number of attempts that may have sent the message: SENT, LOST and AMBIGUOUS.
	Calls int
	Again int // attempts that began after an attempt had ended as SENT
}

// verdict is the judge's result.
type verdict struct {
	*rig.Verdict

	MaxRepeats int
}

// The kinds of findings that the ledger alone does not show.
const (
	repeated rig.Kind = "repeated without a reason"
	disagree rig.Kind = "tables, servers and ledger disagree"
)

// kinds has all kinds of findings, in the order of the report.
var kinds = []rig.Kind{rig.Lost, rig.WrongPerson, rig.Phantom, rig.AfterCancel, repeated, disagree}

// passed reports whether the judge found nothing.
func (v *verdict) passed() bool { return len(v.Findings) == 0 }

// judge compares the evidence.
func judge(e evidence) verdict {
	v := verdict{Verdict: rig.Judge(e.Events, e.Ledger)}
	for _, event := range e.Events {
		if event.Committed {
			v.judgeEvent(event, e)
		}
	}
	for id := range v.Asked {
		v.judgeRow(id, e.Deliveries[id], len(v.Accepted[id]), e.Topic)
	}
	for id := range e.Deliveries {
		if !v.Asked[id] {
			v.Find(rig.Phantom, "%s: a row of notification that no committed event asks for", id)
		}
	}
	for id := range e.Topic {
		if !v.Asked[id] {
			v.Find(rig.Phantom, "%s: a record of the topic that no committed event asks for", id)
		}
	}
	for _, id := range e.Open {
		v.Find(disagree, "%s: its workflow is still open in Temporal", id)
	}
	for _, findings := range v.Findings {
		slices.Sort(findings)
	}
	return v
}

// judgeEvent compares a committed event with the tables and RabbitMQ.
func (v *verdict) judgeEvent(event *rig.Event, e evidence) {
	row := e.Rows[event.ID]
	ended := row.Processed == "SUCCESS" || row.Processed == "FAILED" && row.Outcome == "CANCELLED" && event.CancelledBy != ""
	if row.Outbox != "PROCESSED" || !ended {
		v.Find(disagree, "%s: event_outbox says %q, processed_event %q %s", event.ID, row.Outbox, row.Processed, row.Outcome)
	}
	if e.Published[event.ID] == 0 {
		v.Find(disagree, "%s: RabbitMQ has no message", event.ID)
	}
}

// judgeRow compares a delivery's row, attempts and record with the number of accepted messages.
func (v *verdict) judgeRow(id string, row deliveryRow, took int, topic map[string]bool) {
	sent := row.Status == notification.Sent || row.Status == notification.Delivered
	unclear := row.Status == notification.Cancelled && row.Calls > 0 // no attempt followed the attempt with an unclear result
	switch {
	case sent && took == 0:
		v.Find(disagree, "%s: its row is %s, but the ledger has no message", id, row.Status)
	case took > 0 && !sent && !unclear:
		v.Find(disagree, "%s: its row is %q, but the ledger has a message", id, row.Status)
	case row.Status == notification.Pending || row.Status == notification.Failed:
		v.Find(disagree, "%s: its row is %s", id, row.Status)
	}
	if row.Status == notification.Sent && strings.HasSuffix(id, "-EMAIL") {
		v.Find(disagree, "%s: the provider's receipt has not arrived", id)
	}
	if sent && topic != nil && !topic[id] {
		v.Find(disagree, "%s: the topic has no record of its sending", id)
	}
	v.MaxRepeats += max(0, row.Calls-1)
	if took > max(1, row.Calls) {
		v.Find(repeated, "%s: %d messages, but %d attempts that may have sent one", id, took, row.Calls)
	}
	if row.Again > 0 {
		v.Find(repeated, "%s: an attempt began after another one had ended as SENT", id)
	}
}
