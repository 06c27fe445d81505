package example_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/example"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

func TestReadLedger(t *testing.T) {
	t.Parallel()

	lines, err := example.ReadLedger(strings.NewReader(
		`{"time":"2026-12-01T12:00:00.5Z","channel":"EMAIL","delivery_id":"a","status":202,"accepted":true}` + "\n" +
			`{"time":"2026-12-01T12:00:01Z","channel":"SMS","delivery_id":"b","status":400,"accepted":false}` + "\n"))

	require.NoError(t, err)
	require.Equal(t, []example.LedgerLine{
		{Time: now.Add(500 * time.Millisecond), DeliveryID: "a", Accepted: true},
		{Time: now.Add(time.Second), DeliveryID: "b"},
	}, lines)

	_, err = example.ReadLedger(strings.NewReader("{}\n{\"body\":\"private\n"))
	require.EqualError(t, err, "line 2 of the ledger is not JSON")
}

func TestLedgerDeviations(t *testing.T) {
	t.Parallel()

	const id = "evt-1-customer42-EMAIL"
	accepted, refused := example.LedgerLine{DeliveryID: id, Accepted: true}, example.LedgerLine{DeliveryID: id}
	stranger := example.LedgerLine{DeliveryID: "evt-2-customer42-EMAIL", Accepted: true}
	tests := []struct {
		name   string
		status notification.Status
		lines  []example.LedgerLine
		want   []string
	}{
		{"reached once", notification.Sent, []example.LedgerLine{refused, accepted, stranger}, nil},
		{"delivered", notification.Delivered, []example.LedgerLine{accepted}, nil},
		{"never reached", notification.Sent, []example.LedgerLine{refused}, []string{id + " is SENT, and the ledger has 0 accepted messages of it"}},
		{"reached twice", notification.Sent, []example.LedgerLine{accepted, accepted}, []string{id + " is SENT, and the ledger has 2 accepted messages of it"}},
		{"refused", notification.Failed, []example.LedgerLine{refused}, nil},
		{"reached, and not known", notification.Failed, []example.LedgerLine{accepted}, []string{id + " is FAILED, and the ledger has 1 accepted messages of it"}},
		{"waits", notification.Pending, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			reports := []report.EventDetail{told(notification.DecisionSelected, status(tt.status, "", 0))}
			require.Equal(t, tt.want, example.LedgerDeviations(reports, tt.lines))
		})
	}
}

// Three deliveries of two events in one message.
func TestLedgerDeviationsOfDigests(t *testing.T) {
	t.Parallel()

	const digest, item = "digest-1", "evt-1-customer42-EMAIL"
	one, single := example.LedgerLine{DeliveryID: digest, Accepted: true}, example.LedgerLine{DeliveryID: item, Accepted: true}
	sent, failed, cancelled := notification.Sent, notification.Failed, notification.Cancelled
	tests := []struct {
		name     string
		statuses []notification.Status
		lines    []example.LedgerLine
		want     []string
	}{
		{"one message", []notification.Status{sent, sent, cancelled}, []example.LedgerLine{{DeliveryID: digest}, one}, nil},
		{"none", []notification.Status{sent, sent}, nil, []string{digest + " is SENT, and the ledger has 0 accepted messages of it"}},
		{"two", []notification.Status{sent, sent}, []example.LedgerLine{one, one}, []string{digest + " is SENT, and the ledger has 2 accepted messages of it"}},
		{"refused", []notification.Status{failed, failed}, []example.LedgerLine{{DeliveryID: digest}}, nil},
		{"reached, and not known", []notification.Status{failed, cancelled}, []example.LedgerLine{one}, []string{digest + " is not SENT, and the ledger has 1 accepted messages of it"}},
		{"sent alone as well", []notification.Status{sent}, []example.LedgerLine{one, single}, []string{item + " is SENT, and the ledger has 1 accepted messages of it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var reports []report.EventDetail
			for _, s := range tt.statuses {
				reports = append(reports, told(notification.DecisionSelected, together(status(s, "", 0))))
			}
			require.Equal(t, tt.want, example.LedgerDeviations(reports, tt.lines))
		})
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()

	reports := []report.EventDetail{
		told(notification.DecisionSelected, together(status(notification.Sent, "", 0))),
		told(notification.DecisionSelected, together(status(notification.Sent, "", 0))),
		told(notification.DecisionSelected, together(status(notification.Cancelled, "cancelled", 0))),
		told(notification.DecisionSelected, status(notification.Sent, "", 0)),
	}
	require.Equal(t, map[string]int{"digest-1": 2}, example.Digests(reports))
}

func TestLedgerKnowsNoWebSocket(t *testing.T) {
	t.Parallel()

	detail := report.EventDetail{Recipients: []report.RecipientDetail{{Deliveries: map[notification.Channel]report.RecipientDelivery{
		notification.WebSocket: {DeliveryID: "evt-1-customer42-WEBSOCKET", Status: notification.Sent},
	}}}}
	require.Empty(t, example.LedgerDeviations([]report.EventDetail{detail}, nil))
}

func TestLatencies(t *testing.T) {
	t.Parallel()

	detail := told(notification.DecisionSelected, status(notification.Sent, "", 0))
	detail.Outbox = &report.LeasedRow{OutboxRow: report.OutboxRow{CreatedAt: now}}
	id := "evt-1-customer42-EMAIL"
	lines := []example.LedgerLine{
		{DeliveryID: id, Time: now.Add(time.Second)},
		{DeliveryID: id, Time: now.Add(2 * time.Second), Accepted: true},
		{DeliveryID: id, Time: now.Add(3 * time.Second), Accepted: true},
	}
	require.Equal(t, []time.Duration{2 * time.Second}, example.Latencies([]report.EventDetail{detail}, lines))

	waited := told(notification.DecisionSelected, status(notification.Sent, "", time.Second))
	waited.Outbox = detail.Outbox
	purged := told(notification.DecisionSelected, status(notification.Sent, "", 0))
	require.Empty(t, example.Latencies([]report.EventDetail{waited, purged}, lines))
}

func TestPercentile(t *testing.T) {
	t.Parallel()

	tests := []struct{ n, p, want int }{{1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {2, 99, 2}, {100, 50, 50}, {100, 99, 99}, {101, 99, 100}, {3, 0, 1}, {3, 100, 3}}
	for _, tt := range tests {
		var sorted []time.Duration
		for i := range tt.n {
			sorted = append(sorted, time.Duration(i+1))
		}
		require.Equal(t, time.Duration(tt.want), example.Percentile(sorted, tt.p), "%v", tt)
	}
}
