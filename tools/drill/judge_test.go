package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sound is the evidence of a run without defects: one event that was sent, one that was cancelled
// in time, and one that was rolled back.
func sound() evidence {
	ada := wanted{"e1-customer1-EMAIL", "ada@example.com", "For Ada; event e1;"}
	return evidence{
		Events: []event{
			{ID: "e1", Committed: true, Messages: []wanted{ada}},
			{ID: "e2", Committed: true, Messages: []wanted{{"e2-customer1-EMAIL", "ada@example.com", "e2"}}, CancelledBy: "e3", CancelledAt: noon, Grace: time.Second},
			{ID: "e3", Committed: true},
			{ID: "e4", Messages: []wanted{{"e4-customer1-EMAIL", "ada@example.com", "e4"}}},
		},
		Accepted: []accepted{{noon, ada.Delivery, ada.Address, "<p>" + ada.Text + "</p>"}},
		Tables: tables{
			Events: map[string]eventRow{"e1": {"PROCESSED", "SUCCESS", ""}, "e2": {"PROCESSED", "FAILED", "CANCELLED"}, "e3": {"PROCESSED", "SUCCESS", ""}},
			Deliveries: map[string]deliveryRow{
				ada.Delivery:         {Status: notification.Delivered, Calls: 1},
				"e2-customer1-EMAIL": {Status: notification.Cancelled},
			},
		},
		Published: map[string]bool{"e1": true, "e2": true, "e3": true},
		Topic:     map[string]bool{ada.Delivery: true},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()

	const mail, cancelled = "e1-customer1-EMAIL", "e2-customer1-EMAIL"
	cases := map[string]struct {
		plant func(e *evidence)
		want  []kind
	}{
		"sound":              {func(*evidence) {}, nil},
		"lost":               {func(e *evidence) { e.Accepted = nil }, []kind{lost, disagree}},
		"lost and not sent":  {func(e *evidence) { e.Accepted = nil; e.setRow(mail, deliveryRow{Status: notification.Failed}) }, []kind{lost, disagree}},
		"another address":    {func(e *evidence) { e.Accepted[0].Address = "bob@example.com" }, []kind{wrongPerson}},
		"another text":       {func(e *evidence) { e.Accepted[0].Text = "For Bob; event e1;" }, []kind{wrongPerson}},
		"rolled back":        {func(e *evidence) { e.Accepted = append(e.Accepted, accepted{Delivery: "e4-customer1-EMAIL"}) }, []kind{phantom}},
		"unknown event":      {func(e *evidence) { e.Accepted = append(e.Accepted, accepted{Delivery: "other-customer1-EMAIL"}) }, []kind{phantom}},
		"row of no event":    {func(e *evidence) { e.setRow("e4-customer1-EMAIL", deliveryRow{}) }, []kind{phantom}},
		"record of no event": {func(e *evidence) { e.Topic["e4-customer1-EMAIL"] = true }, []kind{phantom}},
		"sent after cancel":  {func(e *evidence) { e.sendCancelled(cancelled, noon.Add(2*time.Second)) }, []kind{afterCancel}},
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
		}, []kind{disagree}},
		"repeated after a crash": {func(e *evidence) {
			e.Accepted = append(e.Accepted, e.Accepted[0])
			e.setRow(mail, deliveryRow{Status: notification.Delivered, Calls: 2})
		}, nil},
		"repeated without a reason": {func(e *evidence) { e.Accepted = append(e.Accepted, e.Accepted[0]) }, []kind{repeated}},
		"sent again after SENT":     {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Delivered, Calls: 2, Again: 1}) }, []kind{repeated}},
		"row not sent":              {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Pending, Calls: 1}) }, []kind{disagree}},
		"no receipt":                {func(e *evidence) { e.setRow(mail, deliveryRow{Status: notification.Sent, Calls: 1}) }, []kind{disagree}},
		"open workflow":             {func(e *evidence) { e.Open = []string{mail} }, []kind{disagree}},
		"event never processed":     {func(e *evidence) { delete(e.Tables.Events, "e1") }, []kind{disagree}},
		"event not cancelled":       {func(e *evidence) { e.Tables.Events["e1"] = eventRow{"PROCESSED", "FAILED", "CANCELLED"} }, []kind{disagree}},
		"not published":             {func(e *evidence) { delete(e.Published, "e1") }, []kind{disagree}},
		"not in the topic":          {func(e *evidence) { delete(e.Topic, mail) }, []kind{disagree}},
		"no topic":                  {func(e *evidence) { e.Topic = nil }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			e := sound()
			c.plant(&e)
			v := judge(e)

			var found []kind
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

func (e *evidence) setRow(id string, row deliveryRow) { e.Tables.Deliveries[id] = row }

// sendCancelled adds a message of the cancelled event.
func (e *evidence) sendCancelled(id string, at time.Time) {
	e.Accepted = append(e.Accepted, accepted{at, id, "ada@example.com", "e2"})
	e.setRow(id, deliveryRow{Status: notification.Delivered, Calls: 1})
	e.Topic[id] = true
}
