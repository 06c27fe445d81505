package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/example"
)

var began = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// customerDetail returns an event of one customer, with a sent e-mail, a push that waits, a text
// message that failed, and a Slack message that was sent in a digest.
func customerDetail() report.EventDetail {
	sentAt, later, tomorrow := began.Add(2*time.Second), began.Add(5*time.Second), began.Add(24*time.Hour)
	return report.EventDetail{
		EventID: "demo-r-hello",
		Outbox:  &report.LeasedRow{OutboxRow: report.OutboxRow{CreatedAt: began}},
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

func TestResult(t *testing.T) {
	t.Parallel()

	result := newResult("r")
	result.add(example.ExpectedEvent{Name: "hello", Expect: example.Expectation{Outcome: example.Running}},
		Observation{Detail: customerDetail(), Outcome: example.Running})
	result.add(example.ExpectedEvent{Name: "nobody", Expect: example.Expectation{Outcome: "NO_ROUTING"}},
		Observation{Detail: report.EventDetail{EventID: "demo-r-nobody"}, Outcome: "NO_ROUTING"})

	const who, selected = "CUSTOMER/42", notification.DecisionSelected
	require.Equal(t, &Result{
		Run: "r",
		Results: []RecipientResult{
			{Event: "hello", Recipient: who, Channel: notification.WebSocket, Decision: notification.DecisionUserDisabled},
			{Event: "hello", Recipient: who, Channel: notification.Email, Decision: selected, Status: notification.Sent, Has: Unknown},
			{Event: "hello", Recipient: who, Channel: notification.Push, Decision: selected, Status: notification.Pending, Has: NotYet,
				Why: "until 2026-11-22 08:00:00.000Z"},
			{Event: "hello", Recipient: who, Channel: notification.SMS, Decision: selected, Status: notification.Failed, Has: HasNot,
				Why: "twilio refused: 400 21211"},
			{Event: "hello", Recipient: who, Channel: notification.Slack, Decision: selected, Status: notification.Sent, Has: Unknown,
				Digest: "digest-1"},
			{Event: "nobody", Why: "NO_ROUTING"},
		},
		Outcomes:   map[string]string{"demo-r-hello": "RUNNING", "demo-r-nobody": "NO_ROUTING"},
		Digests:    map[string]int{"digest-1": 1},
		Statuses:   map[notification.Status]int{notification.Failed: 1, notification.Pending: 1, notification.Sent: 2},
		Deviations: []string{"hello: CUSTOMER/42 was told, but should not be"},
	}, result)
}

func TestTellChanges(t *testing.T) {
	t.Parallel()

	detail := customerDetail()
	d := &Demo{}
	lines := func() []string {
		var lines []string
		d.Changed = func(line string) { lines = append(lines, strings.Join(strings.Fields(line), " ")) }
		d.tellChanges([]report.EventDetail{detail})
		return lines
	}
	mail := detail.Recipients[0].Deliveries[notification.Email]
	pending := mail
	pending.Status, pending.SentAt = notification.Pending, nil
	detail.Recipients[0].Deliveries[notification.Email] = pending

	require.Equal(t, []string{
		"demo-r-hello-customer42-PUSH PENDING until 2026-11-22 08:00:00.000Z",
		"demo-r-hello-customer42-SLACK SENT in digest",
		"demo-r-hello-customer42-SMS FAILED (twilio refused: 400 21211)",
	}, lines())
	require.Empty(t, lines())
	detail.Recipients[0].Deliveries[notification.Email] = mail
	require.Equal(t, []string{"demo-r-hello-customer42-EMAIL SENT"}, lines())
}

// The column HAS IT follows from the delivery.
func TestPossession(t *testing.T) {
	t.Parallel()

	for want, d := range map[Possession]report.RecipientDelivery{
		HasRead: {Status: notification.Sent, ReadAt: &began},
		Has:     {Status: notification.Delivered},
		HasNot:  {Status: notification.Failed, SentAt: &began},
		NotYet:  {Status: notification.Pending},
		Unknown: {Status: notification.Sent, SentAt: &began},
	} {
		require.Equal(t, want, possession(d))
	}
	require.Equal(t, HasNot, possession(report.RecipientDelivery{Status: notification.Cancelled}))
}
