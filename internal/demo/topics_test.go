package demo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareTopics(t *testing.T) {
	t.Parallel()

	key, payload, other := "order-1", `{"total": 59.80}`, "other"
	order := serviceRow{
		Outbox: "orders.outbox", EventID: "evt-1", EventType: "OrderCreated", CorrelationID: "c-1", Topic: "order-events", Key: &key, Payload: payload, Mark: "SENT", Sent: true,
	}
	came := func(change func(m *message)) message {
		m := message{Topic: order.Topic, Key: &key, Payload: &payload, Headers: []string{"event_id", "evt-1", "event_type", "OrderCreated", "correlation_id", "c-1"}}
		change(&m)
		return m
	}
	right := came(func(*message) {})
	tests := []struct {
		name     string
		row      func(r *serviceRow) // nil: as above
		messages []message
		want     []string // deviations
	}{
		{name: "as in the table", messages: []message{right}},
		{name: "twice", messages: []message{right, right}},
		{name: "beside another event", messages: []message{came(func(m *message) { m.Headers[1], m.Payload = "evt-2", &other }), right}},
		{name: "nothing", want: []string{"evt-1: no message in order-events"}},
		{
			name: "in another topic", messages: []message{came(func(m *message) { m.Topic = "other" })},
			want: []string{"evt-1: no message in order-events"},
		},
		{
			name: "another payload", messages: []message{came(func(m *message) { m.Payload = &other })},
			want: []string{"evt-1: another payload in order-events"},
		},
		{
			name: "no payload", messages: []message{came(func(m *message) { m.Payload = nil })},
			want: []string{"evt-1: another payload in order-events"},
		},
		{
			name: "no key", messages: []message{came(func(m *message) { m.Key = nil })},
			want: []string{"evt-1: another key in order-events"},
		},
		{
			name: "other headers", messages: []message{came(func(m *message) { m.Headers = []string{"event_id", "evt-1", "event_type", "x"} })},
			want: []string{"evt-1: another header event_type in order-events", "evt-1: another header correlation_id in order-events"},
		},
		{
			name: "the second is wrong", messages: []message{right, came(func(m *message) { m.Payload = &other })},
			want: []string{"evt-1: another payload in order-events"},
		},
		{
			name: "a correlation where there is none", row: func(r *serviceRow) { r.CorrelationID = "" }, messages: []message{right},
			want: []string{"evt-1: another header correlation_id in order-events"},
		},
		{
			name: "a key where there is none", row: func(r *serviceRow) { r.Key = nil }, messages: []message{right},
			want: []string{"evt-1: another key in order-events"},
		},
		{
			name: "not marked", row: func(r *serviceRow) { r.Sent, r.Mark = false, "FAILED" }, messages: []message{right},
			want: []string{"evt-1: its row in orders.outbox is FAILED"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			row := order
			if test.row != nil {
				test.row(&row)
			}
			results, deviations := compareTopics([]serviceRow{row}, test.messages)

			require.Equal(t, test.want, deviations)
			require.Len(t, results, 1)
		})
	}
}
