package main

import (
	"bytes"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/console"
	"herald/internal/example"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

var demoStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// demoReport is an event of one customer, with a mail, a push that waits, a text
// message that failed and a message to Slack in a digest of two.
func demoReport() report.EventDetail {
	sentAt, later, tomorrow := demoStart.Add(2*time.Second), demoStart.Add(5*time.Second), demoStart.Add(24*time.Hour)
	return report.EventDetail{
		EventID: "demo-r-hello",
		Outbox:  &report.LeasedRow{OutboxRow: report.OutboxRow{CreatedAt: demoStart}},
		Recipients: []report.RecipientDetail{{
			UserType: notification.Customer, UserID: "42",
			Decisions: map[notification.Channel]notification.Decision{
				notification.WebSocket: notification.DecisionUserDisabled, notification.Email: notification.DecisionSelected,
				notification.Push: notification.DecisionSelected, notification.SMS: notification.DecisionSelected,
				notification.Slack: notification.DecisionSelected,
			},
			Deliveries: map[notification.Channel]report.RecipientDelivery{
				notification.Email: {DeliveryID: "demo-r-hello-customer42-EMAIL", Status: notification.Sent, SentAt: &sentAt},
				notification.Push:  {DeliveryID: "demo-r-hello-customer42-PUSH", Status: notification.Pending, SendAfter: &tomorrow},
				notification.SMS:   {DeliveryID: "demo-r-hello-customer42-SMS", Status: notification.Failed, LastError: "twilio refused: 400 21211"},
				notification.Slack: {DeliveryID: "demo-r-hello-customer42-SLACK", Status: notification.Sent, SentAt: &later, DigestID: "digest-1"},
			},
		}},
	}
}

func demoEvents() []example.Event {
	selected := notification.DecisionSelected
	return []example.Event{
		{Name: "hello", Expect: example.Expectation{Outcome: example.Running, Recipients: map[string]map[notification.Channel]example.Fate{
			"CUSTOMER/42": {
				notification.WebSocket: {Decision: notification.DecisionUserDisabled},
				notification.Email:     {Decision: selected, Status: notification.Sent},
				notification.Push:      {Decision: selected, Status: notification.Pending},
				notification.SMS:       {Decision: selected, Status: notification.Failed, Error: "21211"},
				notification.Slack:     {Decision: selected, Status: notification.Sent, Digest: true},
			},
		}}},
		{Name: "nobody", Expect: example.Expectation{Outcome: "NO_ROUTING"}},
	}
}

func TestDemoResult(t *testing.T) {
	t.Parallel()

	reports := []report.EventDetail{demoReport(), {EventID: "demo-r-nobody"}}
	result := demoResult{Run: "r", Outcomes: map[string]string{}, Digests: map[string]int{"digest-1": 2}, Statuses: map[notification.Status]int{}}
	for i, outcome := range []string{example.Running, "NO_ROUTING"} {
		result.add(demoEvents()[i], example.Observation{Report: reports[i], Outcome: outcome})
	}
	result.measure(reports, []example.LedgerLine{{Time: demoStart.Add(1500 * time.Millisecond), DeliveryID: "demo-r-hello-customer42-EMAIL", Accepted: true}})

	require.Empty(t, result.Deviations)
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	result.print(w)
	require.NoError(t, w.Flush())
	require.Equal(t, `
EVENT   RECIPIENT    CHANNEL    DECISION       STATUS   WHY
hello   CUSTOMER/42  WEBSOCKET  USER_DISABLED  -        -
hello   CUSTOMER/42  EMAIL      SELECTED       SENT     -
hello   CUSTOMER/42  PUSH       SELECTED       PENDING  until 2026-11-22T08:00:00Z
hello   CUSTOMER/42  SMS        SELECTED       FAILED   twilio refused: 400 21211
hello   CUSTOMER/42  SLACK      SELECTED       SENT     in digest-1 (2)
nobody  -            -          -              -        NO_ROUTING

2 events; deliveries: 1 FAILED, 1 PENDING, 2 SENT
from the event's row to the provider: p50 1500 ms, p99 1500 ms; 0.5 deliveries a second
every delivery ended as the rules say, and the ledger agrees
`, out.String())
}

func TestDemoResultDeviates(t *testing.T) {
	t.Parallel()

	event := demoEvents()[0]
	event.Expect.Recipients["CUSTOMER/42"][notification.SMS] = example.Fate{Decision: notification.DecisionSelected, Status: notification.Sent}
	result := demoResult{Outcomes: map[string]string{}, Statuses: map[notification.Status]int{}}
	result.add(event, example.Observation{Report: demoReport(), Outcome: example.Running})

	var out bytes.Buffer
	result.print(&out)
	require.Contains(t, out.String(), "DEVIATION: hello: CUSTOMER/42 SMS: expected SENT, is FAILED (twilio refused: 400 21211)")
	require.NotContains(t, out.String(), "as the rules say")
}

func TestDemoShowsChanges(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	d := &demo{app: &app{Output: console.Output{Out: &out, Format: console.Table}}}
	detail := demoReport()
	shown := map[string]notification.Status{}
	lines := func() []string {
		out.Reset()
		d.showChanges([]report.EventDetail{detail}, shown)
		var lines []string
		for line := range bytes.Lines(out.Bytes()) {
			lines = append(lines, string(bytes.Join(bytes.Fields(line)[1:], []byte(" ")))) // without the time
		}
		return lines
	}
	mail := detail.Recipients[0].Deliveries[notification.Email]
	pending := mail
	pending.Status, pending.SentAt = notification.Pending, nil
	detail.Recipients[0].Deliveries[notification.Email] = pending

	require.Equal(t, []string{
		"demo-r-hello-customer42-PUSH PENDING until 2026-11-22T08:00:00Z",
		"demo-r-hello-customer42-SLACK SENT in digest",
		"demo-r-hello-customer42-SMS FAILED (twilio refused: 400 21211)",
	}, lines())
	require.Empty(t, lines())
	detail.Recipients[0].Deliveries[notification.Email] = mail
	require.Equal(t, []string{"demo-r-hello-customer42-EMAIL SENT"}, lines())
}
