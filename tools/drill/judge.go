package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// event is an event that the drill wrote, with the messages that it asks for.
type event struct {
	ID        string
	Committed bool // the event's row and its business row exist
	Messages  []wanted

	CancelledBy string        // id of the event that cancels it; empty: none
	CancelledAt time.Time     // when the commit of the cancelling event had returned; zero: unknown
	Grace       time.Duration // the maximum time that a message in flight may take after the cancellation
}

// wanted is a message that an event asks for.
type wanted struct {
	Delivery string // its id, in the documented form
	Address  string // the only address that may get it
	Text     string // a part of the body, which names the person and the event
}

// evidence is everything that the judge compares. Events comes from the drill itself, and Accepted from the
// sandbox's ledger. The other fields must agree with these two.
type evidence struct {
	Events   []event
	Accepted []accepted

	Tables    tables
	Open      []string        // ids of open workflows of the run's events
	Published map[string]bool // ids of the events whose message RabbitMQ has
	Topic     map[string]bool // ids of the deliveries that the topic reports as sent; nil: no topic
}

// accepted is a message that a provider took.
type accepted struct {
	Time                    time.Time
	Delivery, Address, Text string
}

// tables holds the rows of Herald's tables.
type tables struct {
	Events     map[string]eventRow
	Deliveries map[string]deliveryRow
}

type eventRow struct{ Outbox, Processed, Outcome string }

type deliveryRow struct {
	Status notification.Status
	// Calls is the number of attempts that may have sent the message: SENT, LOST and AMBIGUOUS.
	Calls int
	Again int // attempts that began after an attempt had ended as SENT
}

// verdict is the judge's result.
type verdict struct {
	Events, RolledBack, Cancelled, Messages, Repeats, MaxRepeats int

	Findings map[kind][]string
}

// kind is a kind of finding.
type kind string

// The kinds of findings, in the order of the report.
const (
	lost        kind = "lost"
	wrongPerson kind = "wrong person"
	phantom     kind = "phantom"
	afterCancel kind = "sent after cancel"
	repeated    kind = "repeated without a reason"
	disagree    kind = "tables, servers and ledger disagree"
)

var kinds = []kind{lost, wrongPerson, phantom, afterCancel, repeated, disagree}

func (v *verdict) find(k kind, format string, args ...any) {
	v.Findings[k] = append(v.Findings[k], fmt.Sprintf(format, args...))
}

// passed reports whether the judge found nothing.
func (v *verdict) passed() bool { return len(v.Findings) == 0 }

// judge compares the evidence.
func judge(e evidence) verdict {
	v := verdict{Findings: map[kind][]string{}}
	took := map[string][]accepted{}
	for _, a := range e.Accepted {
		took[a.Delivery] = append(took[a.Delivery], a)
	}
	v.Messages = len(e.Accepted)
	asked := map[string]bool{}
	for _, event := range e.Events {
		if !event.Committed {
			v.RolledBack++
			continue
		}
		v.Events++
		if event.CancelledBy != "" {
			v.Cancelled++
		}
		v.judgeEvent(event, e)
		for _, w := range event.Messages {
			asked[w.Delivery] = true
			v.judgeMessages(event, w, took[w.Delivery])
			v.judgeRow(w.Delivery, e.Tables.Deliveries[w.Delivery], len(took[w.Delivery]), e.Topic)
		}
	}
	v.judgeUnasked(e, asked, took)
	for _, id := range e.Open {
		v.find(disagree, "%s: its workflow is still open in Temporal", id)
	}
	for _, findings := range v.Findings {
		slices.Sort(findings)
	}
	return v
}

// judgeEvent compares a committed event with the tables and RabbitMQ.
func (v *verdict) judgeEvent(event event, e evidence) {
	row := e.Tables.Events[event.ID]
	ended := row.Processed == "SUCCESS" || row.Processed == "FAILED" && row.Outcome == "CANCELLED" && event.CancelledBy != ""
	if row.Outbox != "PROCESSED" || !ended {
		v.find(disagree, "%s: event_outbox says %q, processed_event %q %s", event.ID, row.Outbox, row.Processed, row.Outcome)
	}
	if !e.Published[event.ID] {
		v.find(disagree, "%s: RabbitMQ has no message", event.ID)
	}
}

// judgeMessages judges the messages of one delivery.
func (v *verdict) judgeMessages(event event, w wanted, took []accepted) {
	if len(took) == 0 && event.CancelledBy == "" {
		v.find(lost, "%s: no provider accepted it", w.Delivery)
	}
	for _, a := range took {
		if a.Address != w.Address || !strings.Contains(a.Text, w.Text) {
			v.find(wrongPerson, "%s: at %s another address or another text", w.Delivery, instant(a.Time))
		}
		if event.CancelledBy != "" && !event.CancelledAt.IsZero() && a.Time.After(event.CancelledAt.Add(event.Grace)) {
			v.find(afterCancel, "%s: accepted at %s, cancelled by %s at %s", w.Delivery, instant(a.Time), event.CancelledBy, instant(event.CancelledAt))
		}
	}
}

// judgeRow compares a delivery's row, attempts and record with the number of accepted messages.
func (v *verdict) judgeRow(id string, row deliveryRow, took int, topic map[string]bool) {
	sent := row.Status == notification.Sent || row.Status == notification.Delivered
	unclear := row.Status == notification.Cancelled && row.Calls > 0 // no attempt followed the attempt with an unclear result
	switch {
	case sent && took == 0:
		v.find(disagree, "%s: its row is %s, but the ledger has no message", id, row.Status)
	case took > 0 && !sent && !unclear:
		v.find(disagree, "%s: its row is %q, but the ledger has a message", id, row.Status)
	case row.Status == notification.Pending || row.Status == notification.Failed:
		v.find(disagree, "%s: its row is %s", id, row.Status)
	}
	if row.Status == notification.Sent && strings.HasSuffix(id, "-EMAIL") {
		v.find(disagree, "%s: the provider's receipt has not arrived", id)
	}
	if sent && topic != nil && !topic[id] {
		v.find(disagree, "%s: the topic has no record of its sending", id)
	}
	v.Repeats += max(0, took-1)
	v.MaxRepeats += max(0, row.Calls-1)
	if took > max(1, row.Calls) {
		v.find(repeated, "%s: %d messages, but %d attempts that may have sent one", id, took, row.Calls)
	}
	if row.Again > 0 {
		v.find(repeated, "%s: an attempt began after another one had ended as SENT", id)
	}
}

// judgeUnasked finds messages, rows and records that no committed event asks for.
func (v *verdict) judgeUnasked(e evidence, asked map[string]bool, took map[string][]accepted) {
	for id, messages := range took {
		if !asked[id] {
			v.find(phantom, "%s: %d messages that no committed event asks for", id, len(messages))
		}
	}
	for id := range e.Tables.Deliveries {
		if !asked[id] {
			v.find(phantom, "%s: a row of notification that no committed event asks for", id)
		}
	}
	for id := range e.Topic {
		if !asked[id] {
			v.find(phantom, "%s: a record of the topic that no committed event asks for", id)
		}
	}
}

// instant returns a time of day, in UTC.
func instant(t time.Time) string { return t.UTC().Format("15:04:05.000") }
