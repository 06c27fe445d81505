package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/outbox"
	"herald/tools/rig"
	"herald/tools/sandbox"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// message returns an accepted message to Ada.
func message(at time.Time, delivery, text string) sandbox.Entry {
	return sandbox.Entry{Time: at, DeliveryID: delivery, Recipient: "ada@example.com", Text: text, Accepted: true}
}

// sound is the evidence of a run without defects: one event that was sent, one that was cancelled
// in time, and one that was rolled back.
func sound() evidence {
	ada := rig.Message{Delivery: "e1-customer1-EMAIL", Address: "ada@example.com", Text: "For Ada; event e1;"}
	return evidence{
		Events: []*rig.Event{
			{Event: outbox.Event{ID: "e1"}, Committed: true, Messages: []rig.Message{ada}},
			{Event: outbox.Event{ID: "e2"}, Committed: true,
				Messages: []rig.Message{{Delivery: "e2-customer1-EMAIL", Address: "ada@example.com", Text: "e2"}}, CancelledBy: "e3",
				CancelledAt: noon, Grace: time.Second},
			{Event: outbox.Event{ID: "e3"}, Committed: true},
			{Event: outbox.Event{ID: "e4"}, Messages: []rig.Message{{Delivery: "e4-customer1-EMAIL", Address: "ada@example.com", Text: "e4"}}},
		},
		Ledger: []sandbox.Entry{message(noon, ada.Delivery, "<p>"+ada.Text+"</p>")},
		Rows: map[string]eventRow{
			"e1": {"PROCESSED", "SUCCESS", ""}, "e2": {"PROCESSED", "FAILED", "CANCELLED"}, "e3": {"PROCESSED", "SUCCESS", ""},
		},
		Deliveries: map[string]deliveryRow{
			ada.Delivery:         {Status: notification.Delivered, Calls: 1},
			"e2-customer1-EMAIL": {Status: notification.Cancelled},
		},
		Published: map[string]int{"e1": 1, "e2": 1, "e3": 1},
		Topic:     map[string]bool{ada.Delivery: true},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()

	const mail, cancelled = "e1-customer1-EMAIL", "e2-customer1-EMAIL"
	cases := map[string]struct {
		plant func(e *evidence)
		want  []rig.Kind
	}{
		"sound": {func(*evidence) {}, nil},
		"lost":  {func(e *evidence) { e.Ledger = nil }, []rig.Kind{rig.Lost, disagree}},
		"lost and not sent": {func(e *evidence) { e.Ledger = nil; e.setRow(mail, deliveryRow{Status: notification.Failed}) },
			[]rig.Kind{rig.Lost, disagree}},
		"another address": {func(e *evidence) { e.Ledger[0].Recipient = "bob@example.com" }, []rig.Kind{rig.WrongPerson}},
		"another text":    {func(e *evidence) { e.Ledger[0].Text = "For Bob; event e1;" }, []rig.Kind{rig.WrongPerson}},
		"rolled back": {func(e *evidence) { e.Ledger = append(e.Ledger, message(noon, "e4-customer1-EMAIL", "")) },
			[]rig.Kind{rig.Phantom}},
		"unknown event": {func(e *evidence) { e.Ledger = append(e.Ledger, message(noon, "other-customer1-EMAIL", "")) },
			[]rig.Kind{rig.Phantom}},
		"row of no event":    {func(e *evidence) { e.setRow("e4-customer1-EMAIL", deliveryRow{}) }, []rig.Kind{rig.Phantom}},
		"record of no event": {func(e *evidence) { e.Topic["e4-customer1-EMAIL"] = true }, []rig.Kind{rig.Phantom}},
		"sent after cancel":  {func(e *evidence) { e.sendCancelled(cancelled, noon.Add(2*time.Second)) }, []rig.Kind{rig.AfterCancel}},
		"under way":          {func(e *evidence) { e.sendCancelled(cancelled, noon.Add(time.Second)) }, nil},
		"sent before cancel": {func(e *evidence) { e.sendCancelled(cancelled, noon.Add(-time.Hour)) }, nil},
		"cancelled at an unknown time": {func(e *evidence) {
			e.Events[1].CancelledAt = time.Time{}
			e.sendCancelled(cancelled, noon.Add(time.Hour))
		}, nil},
		"cancelled after an unclear answer": {func(e *evidence) {
			e.sendCancelled(cancelled, noon)
			e.setRow(cancelled, deliveryRow{Status: notification.Cancelled, Calls: 1})
			delete(e.Topic, cancelled)
		}, nil},
		"cancelled without an attempt": {func(e *evidence) {
			e.sendCancelled(cancelled, noon)
			e.setRow(cancelled, deliveryRow{Status: notification.Cancelled})
		}, []rig.Kind{disagree}},
		"repeated after a crash": {func(e *evidence) {
			e.Ledger = append(e.Ledger, e.Ledger[0])
			e.setRow(mail, deliveryRow{Status: notification.Delivered, Calls: 2})
		}, nil},
		"repeated without a reason": {func(e *evidence) { e.Ledger = append(e.Ledger, e.Ledger[0]) }, []rig.Kind{repeated}},
		"sent again after SENT": {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Delivered, Calls: 2, Again: 1}) },
			[]rig.Kind{repeated}},
		"row not sent": {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Pending, Calls: 1}) },
			[]rig.Kind{disagree}},
		"no receipt":            {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Sent, Calls: 1}) }, []rig.Kind{disagree}},
		"open workflow":         {func(e *evidence) { e.Open = []string{mail} }, []rig.Kind{disagree}},
		"event never processed": {func(e *evidence) { delete(e.Rows, "e1") }, []rig.Kind{disagree}},
		"event not cancelled":   {func(e *evidence) { e.Rows["e1"] = eventRow{"PROCESSED", "FAILED", "CANCELLED"} }, []rig.Kind{disagree}},
		"not published":         {func(e *evidence) { delete(e.Published, "e1") }, []rig.Kind{disagree}},
		"not in the topic":      {func(e *evidence) { delete(e.Topic, mail) }, []rig.Kind{disagree}},
		"no topic":              {func(e *evidence) { e.Topic = nil }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			e := sound()
			c.plant(&e)
			v := judge(e)

			var found []rig.Kind
			for _, k := range kinds {
				if len(v.Findings[k]) > 0 {
					found = append(found, k)
				}
			}
			require.Equal(t, c.want, found, "%v", v.Findings)
			require.Equal(t, len(c.want) == 0, v.passed())
			require.Equal(t, []int{3, 1, 1}, []int{v.Events, v.RolledBack, v.Cancelled})
		})
	}
}

func (e *evidence) setRow(id string, row deliveryRow) { e.Deliveries[id] = row }

// sendCancelled adds a message of the cancelled event.
func (e *evidence) sendCancelled(id string, at time.Time) {
	e.Ledger = append(e.Ledger, message(at, id, "e2"))
	e.setRow(id, deliveryRow{Status: notification.Delivered, Calls: 1})
	e.Topic[id] = true
}
