package notification

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What becomes of a row that is pending in its own table depends on what Herald knows of it.
func TestStep(t *testing.T) {
	t.Parallel()
	orders := SourceConfig{Name: "orders", Dialect: OrderService}
	wallet := SourceConfig{Name: "wallet", Dialect: WalletHub}
	failed := KnownEvent{Source: "orders", Status: OutboxFailed, Ended: true}
	underWay := failed
	underWay.Ended = false
	refused := underWay
	refused.Refused = true
	withdrawn := failed
	withdrawn.Cancelled = "cancelled by an operator"
	cancelled := KnownEvent{Source: "orders", Status: OutboxProcessed, Cancelled: "cancelled by an operator", Ended: true}
	told := cancelled
	told.RowFailed = true
	ending := cancelled
	ending.Ended = false
	takenBack := told
	takenBack.Unfit = "cancelled by event 8"
	unadopted := failed
	unadopted.Unfit = "the event type is empty"
	created := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	before := created.Add(-time.Hour)
	sent := func(at time.Time) KnownEvent {
		return KnownEvent{Source: "wallet", Status: OutboxProcessed, Acknowledged: true, CreatedAt: at}
	}
	tests := []struct {
		name    string
		source  SourceConfig
		known   map[string]KnownEvent
		eventID string
		step    AdoptionStep
	}{
		{"a new row", orders, nil, "7", AdoptRow},
		{"an event that waits for its start", orders, map[string]KnownEvent{"7": {Source: "orders", Status: OutboxPending}}, "7", PassRow},
		{"an event that waits for its broker", orders, map[string]KnownEvent{"7": {Source: "orders", Status: OutboxProcessed}}, "7", PassRow},
		{"a crash between acknowledgement and mark", orders, map[string]KnownEvent{"7": {Source: "orders", Status: OutboxProcessed, Acknowledged: true, CreatedAt: created}}, "7", MarkRow},
		{"set back to NEW by its service", orders, map[string]KnownEvent{"7": failed}, "7", BeginRow},
		{"set back while its workflow ends", orders, map[string]KnownEvent{"7": underWay}, "7", PassRow},
		{"set back while people are still told", orders, map[string]KnownEvent{"7": refused}, "7", OrderRow},
		{"cancelled before its start", orders, map[string]KnownEvent{"7": withdrawn}, "7", FailRow},
		{"cancelled while it waited for its topic", orders, map[string]KnownEvent{"7": cancelled}, "7", FailRow},
		{"cancelled, and its workflow ends", orders, map[string]KnownEvent{"7": ending}, "7", PassRow},
		{"cancelled, marked, and set back by its service", orders, map[string]KnownEvent{"7": told}, "7", BeginRow},
		{"taken back by another event, and set back by its service", orders, map[string]KnownEvent{"7": takenBack}, "7", FailRow},
		{"cancelled in a table that marks no failures", wallet, map[string]KnownEvent{"wallet-7": {Source: "wallet", Status: OutboxProcessed, Cancelled: "cancelled by an operator", Ended: true}}, "wallet-7", PassRow},
		{"a crash between its insert and its mark", orders, map[string]KnownEvent{"7": unadopted}, "7", FailRow},
		{"an id of another source, not marked yet", orders, map[string]KnownEvent{"7": {Source: "herald"}, "7~orders": unadopted}, "7~orders", FailRow},
		{"failed in a table that marks no failures", wallet, map[string]KnownEvent{"wallet-7": {Source: "wallet", Status: OutboxFailed, Ended: true}}, "wallet-7", PassRow},
		{"an id of another source", orders, map[string]KnownEvent{"7": {Source: "herald", Status: OutboxProcessed}}, "7~orders", AdoptClash},
		{"the id of an earlier row", wallet, map[string]KnownEvent{"wallet-7": sent(before)}, "wallet-7~wallet", AdoptClash},
		{"the id of an earlier row, marked", wallet, map[string]KnownEvent{"wallet-7": sent(before), "wallet-7~wallet": {Source: "wallet", Status: OutboxFailed}}, "wallet-7~wallet", PassRow},
		{"the id of an earlier row, sent by an operator", wallet, map[string]KnownEvent{"wallet-7": sent(before), "wallet-7~wallet": sent(created)}, "wallet-7~wallet", MarkRow},
		{"the id of two earlier rows", wallet, map[string]KnownEvent{"wallet-7": sent(before), "wallet-7~wallet": sent(before)}, "wallet-7~wallet", PassRow},
		{"an id of another source, marked", wallet, map[string]KnownEvent{"wallet-7": {Source: "herald"}, "wallet-7~wallet": {Source: "wallet", Status: OutboxFailed}}, "wallet-7~wallet", PassRow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eventID, step := test.source.Step(SourceKey{Key: "7", CreatedAt: &created}, test.known)
			require.Equal(t, test.step, step)
			require.Equal(t, test.eventID, eventID)
			require.Equal(t, "7", test.source.Key(eventID))
			require.Contains(t, test.source.EventIDs("7"), eventID)
		})
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	orders := SourceConfig{Name: "orders", Dialect: OrderService}
	row := func(change func(*SourceRow)) SourceRow {
		row := SourceRow{Key: "7", EventType: "OrderCreated", AggregateType: "Order", AggregateID: "5", Payload: []byte(`{"a":1}`)}
		change(&row)
		return row
	}
	tests := []struct {
		name    string
		eventID string
		row     SourceRow
		kept    bool   // the payload
		problem string // empty: it is PENDING
	}{
		{"an order", "7", row(func(*SourceRow) {}), true, ""},
		{"no JSON", "7", row(func(r *SourceRow) { r.Payload = []byte("hello") }), false, ""},
		{"no object", "7", row(func(r *SourceRow) { r.Payload = []byte("[1]") }), false, ""},
		{"JSON null", "7", row(func(r *SourceRow) { r.Payload = []byte("null") }), false, ""},
		{"null", "7", row(func(r *SourceRow) { r.Payload = nil }), false, ""},
		{"too large", "7", row(func(r *SourceRow) { r.Payload = []byte(`{"a":"` + strings.Repeat("x", 256<<10) + `"}`) }), false, ""},
		{"no aggregate", "7", row(func(r *SourceRow) { r.AggregateType, r.AggregateID = "", "" }), true, ""},
		{"a type that would clear a terminal", "7", row(func(r *SourceRow) { r.EventType = "Order\x1b[2J" }), true, "event type"},
		{"a type that is too long", "7", row(func(r *SourceRow) { r.EventType = strings.Repeat("é", 128) }), true, "event type"},
		{"no type", "7", row(func(r *SourceRow) { r.EventType = "" }), true, "event type"},
		{"an id of another source", "7~orders", row(func(*SourceRow) {}), true, "7"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			event := orders.Adopt(test.eventID, test.row)
			require.Equal(t, test.kept, event.Payload != nil)
			require.LessOrEqual(t, len(event.Type), 255)
			require.NotContains(t, event.Type, "\x1b")
			if test.problem == "" {
				require.Empty(t, event.Problem)
			} else {
				require.Contains(t, event.Problem, test.problem)
			}
		})
	}
}
