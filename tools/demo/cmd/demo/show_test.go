package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/terminal"
	"herald/tools/demo"
	"herald/tools/example"
)

func TestShow(t *testing.T) {
	t.Parallel()

	result := &demo.Result{
		Results: []demo.RecipientResult{
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Push, Decision: notification.DecisionSelected,
				Status: notification.Pending, Has: demo.NotYet, Why: "until 2026-11-22 08:00:00.000Z"},
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Slack, Decision: notification.DecisionSelected,
				Status: notification.Sent, Has: demo.Unknown, Digest: "digest-1"},
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Email, Decision: notification.DecisionSelected,
				Status: notification.Delivered, Has: demo.Has},
			{Event: "nobody", Why: "NO_ROUTING"},
		},
		Outcomes: map[string]string{"demo-r-hello": "RUNNING", "demo-r-nobody": "NO_ROUTING"},
		Digests:  map[string]int{"digest-1": 2},
		Statuses: map[notification.Status]int{notification.Delivered: 1, notification.Pending: 1, notification.Sent: 2},
	}
	printed := func(all bool) string {
		var out bytes.Buffer
		require.NoError(t, (&terminal.Output{Out: &out}).Print(nil, func(w io.Writer) { show(w, result, all) }))
		return out.String()
	}
	require.Equal(t, `
EVENT   RECIPIENT    CHANNEL  DECISION  STATUS     HAS IT   WHY
hello   CUSTOMER/42  PUSH     SELECTED  PENDING    not yet  until 2026-11-22 08:00:00.000Z
hello   CUSTOMER/42  SLACK    SELECTED  SENT       unknown  in digest-1 (2)
hello   CUSTOMER/42  EMAIL    SELECTED  DELIVERED  yes      -
nobody  -            -        -         -          -        NO_ROUTING

2 events, 4 deliveries: 1 DELIVERED, 1 PENDING, 2 SENT
every delivery ended as the rules say, including the failures on purpose, and the ledger agrees
`, printed(true))

	result.Rows = []demo.ServiceRow{
		{Outbox: "orders.outbox", EventID: "r-1", EventType: "OrderCreated", Mark: "SENT", Sent: true},
		{Outbox: "orders.outbox", EventID: "r-2", EventType: "OrderCreated", Mark: "NEW"},
	}
	require.Contains(t, printed(true), `
OUTBOX         EVENT  TYPE          MARK
orders.outbox  r-1    OrderCreated  SENT
`)
	require.Contains(t, printed(false), "1 of 2 rows from the outboxes of two other services are in Kafka")

	result.Deviations = []string{"hello: CUSTOMER/42 was not told"}
	for _, all := range []bool{false, true} {
		require.Contains(t, printed(all), "DEVIATION: hello: CUSTOMER/42 was not told")
		require.NotContains(t, printed(all), "as the rules say")
	}
}

// The summary has one line for similar events, and names failures before the reasons of the rules.
func TestSummary(t *testing.T) {
	t.Parallel()

	const selected = notification.DecisionSelected
	results := []demo.RecipientResult{
		{Event: "news", Recipient: "CUSTOMER/1", Channel: notification.Email, Decision: selected, Status: notification.Delivered},
		{Event: "news", Recipient: "CUSTOMER/1", Channel: notification.SMS, Decision: selected, Status: notification.Failed,
			Why: "undelivered: error 30003: the phone is off or out of reach"},
		{Event: "news", Recipient: "CUSTOMER/2", Channel: notification.Email, Decision: notification.DecisionNoAddress},
		{Event: "news", Recipient: "CUSTOMER/2", Channel: notification.SMS, Decision: notification.DecisionQuietHours},
		{Event: "news", Recipient: "CUSTOMER/3", Channel: notification.Email, Decision: notification.DecisionQuietHours},
		{Event: "news", Recipient: "CUSTOMER/3", Channel: notification.SMS, Decision: notification.DecisionUserDisabled},
		{Event: "news", Recipient: "CUSTOMER/3", Channel: notification.Push, Decision: notification.DecisionSuppressed},
		{Event: "wait", Recipient: "CUSTOMER/1", Channel: notification.Push, Decision: selected, Status: notification.Pending,
			Why: "until 2026-11-22 08:00:00.000Z"},
		{Event: "review-1", Recipient: "CUSTOMER/1", Channel: notification.Email, Decision: selected, Status: notification.Sent, Digest: "d"},
		{Event: "review-2", Recipient: "CUSTOMER/1", Channel: notification.Email, Decision: selected, Status: notification.Sent, Digest: "d"},
		{Event: "offer", Recipient: "CUSTOMER/1", Channel: notification.WebSocket, Decision: selected, Status: notification.Delivered,
			Has: demo.HasRead},
		{Event: "nobody", Why: "NO_ROUTING"},
	}
	var out bytes.Buffer
	require.NoError(t, (&terminal.Output{Out: &out}).Print(nil, func(w io.Writer) { showSummary(w, results) }))
	require.Equal(t, `EVENT              WHO         WEBSOCKET  EMAIL  PUSH  SMS  NOTES
news               3 people    -          1/3    0/1   0/3  SMS failed: undelivered: error 30003: the phone…, 2 quiet hours, 1 no address, 1 suppressed, 1 other
wait               CUSTOMER/1  -          -      0/1   -    PUSH waits until 2026-11-22 08:00:00.000Z
review (2 events)  CUSTOMER/1  -          2/2    -     -    2 in 1 digest
offer              CUSTOMER/1  1/1        -      -     -    read in the inbox, so nothing follows
nobody             nobody      -          -      -     -    no routing
`, out.String())
}

// A screen of 25 lines has the summary of the whole example.
func TestSummaryOfTheExampleIsShort(t *testing.T) {
	t.Parallel()

	events, err := example.Events()
	require.NoError(t, err)
	orders, err := example.Orders()
	require.NoError(t, err)
	acts, err := example.Acts()
	require.NoError(t, err)
	events = append(events, orders...)
	for _, act := range acts {
		for _, scene := range act {
			events = append(events, scene.Event)
		}
	}
	var results []demo.RecipientResult
	for _, event := range events {
		results = append(results, demo.RecipientResult{Event: event.Name, Why: event.Expect.Outcome})
	}
	require.LessOrEqual(t, len(summarize(results)), 24)
}
