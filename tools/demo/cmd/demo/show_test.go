package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/terminal"
	"herald/tools/demo"
)

func TestShow(t *testing.T) {
	t.Parallel()

	result := &demo.Result{
		Results: []demo.RecipientResult{
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Push, Decision: notification.DecisionSelected, Status: notification.Pending, Has: demo.NotYet, Why: "until 2026-11-22 08:00:00.000Z"},
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Slack, Decision: notification.DecisionSelected, Status: notification.Sent, Has: demo.Unknown, Digest: "digest-1"},
			{Event: "hello", Recipient: "CUSTOMER/42", Channel: notification.Email, Decision: notification.DecisionSelected, Status: notification.Delivered, Has: demo.Has},
			{Event: "nobody", Why: "NO_ROUTING"},
		},
		Outcomes: map[string]string{"demo-r-hello": "RUNNING", "demo-r-nobody": "NO_ROUTING"},
		Digests:  map[string]int{"digest-1": 2},
		Statuses: map[notification.Status]int{notification.Delivered: 1, notification.Pending: 1, notification.Sent: 2},
	}
	printed := func() string {
		var out bytes.Buffer
		require.NoError(t, (&terminal.Output{Out: &out}).Print(nil, func(w io.Writer) { show(w, result) }))
		return out.String()
	}
	require.Equal(t, `
EVENT   RECIPIENT    CHANNEL  DECISION  STATUS     HAS IT   WHY
hello   CUSTOMER/42  PUSH     SELECTED  PENDING    not yet  until 2026-11-22 08:00:00.000Z
hello   CUSTOMER/42  SLACK    SELECTED  SENT       unknown  in digest-1 (2)
hello   CUSTOMER/42  EMAIL    SELECTED  DELIVERED  yes      -
nobody  -            -        -         -          -        NO_ROUTING

2 events; deliveries: 1 DELIVERED, 1 PENDING, 2 SENT
every delivery ended as the rules say, and the ledger agrees
`, printed())

	result.Rows = []demo.ServiceRow{{Outbox: "orders.outbox", EventID: "r-1", EventType: "OrderCreated", Mark: "SENT"}}
	require.Contains(t, printed(), `
OUTBOX         EVENT  TYPE          MARK
orders.outbox  r-1    OrderCreated  SENT
`)

	result.Deviations = []string{"hello: CUSTOMER/42 was not told"}
	require.Contains(t, printed(), "DEVIATION: hello: CUSTOMER/42 was not told")
	require.NotContains(t, printed(), "as the rules say")
}
