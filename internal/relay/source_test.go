package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestEventIDOfASource(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		source       Source
		key, eventID string
	}{
		{"an id that is unique everywhere", Source{Name: "orders", Dialect: OrderService}, "0191-a", "0191-a"},
		{"a number of one table", Source{Name: "wallet", Dialect: WalletHub}, "7", "wallet-7"},
		{"Herald's own", Source{Name: notification.HeraldSource}, "evt-1", "evt-1"},
	}
	for _, test := range tests {
		require.Equal(t, test.eventID, test.source.EventID(test.key), test.name)
		require.Equal(t, test.key, test.source.keyOf(test.eventID), test.name)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	orders := Source{Name: "orders", Dialect: OrderService, Kafka: &KafkaRoute{Topic: "order-events", Key: "{{.aggregate_id}}"}}
	wallet := Source{
		Name: "wallet", Dialect: WalletHub, Kafka: &KafkaRoute{Topic: "{{.event_type}}-out-0", Key: "{{.aggregate_id}}"},
		Aggregate: &Aggregate{Type: "CUSTOMER", IDPath: "customerId"},
	}
	tests := []struct {
		name   string
		source Source
		row    Row
		want   Record
	}{
		{
			name:   "an order, its payload byte for byte",
			source: orders,
			row: Row{
				Key: "0191-a", EventType: "OrderCreated", AggregateType: "Order", AggregateID: "o-1", Payload: []byte(`{ "b":1.0,"a":"è" } `),
			},
			want: Record{Topic: "order-events", Key: []byte("o-1"), Value: []byte(`{ "b":1.0,"a":"è" } `), Headers: []Header{
				{"event_id", "0191-a"}, {"event_type", "OrderCreated"}, {"aggregate_type", "Order"}, {"aggregate_id", "o-1"},
				{"source", "orders"}, {"content-type", "application/json"},
			}},
		},
		{
			name:   "a wallet, whose aggregate is in the payload",
			source: wallet,
			row: Row{
				Key: "7", EventType: "FundsAdded", CorrelationID: "c-1", Traceparent: "00-trace-span-01", Payload: []byte(`{"customerId":5}`),
			},
			want: Record{Topic: "FundsAdded-out-0", Key: []byte("5"), Value: []byte(`{"customerId":5}`), Headers: []Header{
				{"event_id", "wallet-7"}, {"event_type", "FundsAdded"}, {"aggregate_type", "CUSTOMER"}, {"aggregate_id", "5"},
				{"correlation_id", "c-1"}, {"source", "wallet"}, {"content-type", "application/json"}, {"traceparent", "00-trace-span-01"},
			}},
		},
		{
			name:   "a payload that is no JSON, without a key",
			source: wallet,
			row:    Row{Key: "8", EventType: "Note", Payload: []byte("hello")},
			want: Record{Topic: "Note-out-0", Value: []byte("hello"), Headers: []Header{
				{"event_id", "wallet-8"}, {"event_type", "Note"}, {"aggregate_type", "CUSTOMER"},
				{"source", "wallet"}, {"content-type", "text/plain; charset=utf-8"},
			}},
		},
	}
	for _, test := range tests {
		record, err := newRecorder(test.source).record(test.source.EventID(test.row.Key), test.row)
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, record, test.name)
	}
}

func TestRecordWithoutATopic(t *testing.T) {
	t.Parallel()
	source := Source{Name: "wallet", Dialect: WalletHub, Kafka: &KafkaRoute{Topic: "{{.event_type}}"}}
	for _, eventType := range []string{"", ".", "..", "Funds added", "a/b"} {
		_, err := newRecorder(source).record("wallet-1", Row{Key: "1", EventType: eventType})
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, eventType)
		require.Equal(t, FailRecord, refused.Verdict, eventType)
	}
}

func TestCheckOfARoute(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		route KafkaRoute
		says  string // empty: the route is valid
	}{
		{"a plain topic", KafkaRoute{Topic: "order-events"}, ""},
		{"all that may be named",
			KafkaRoute{Topic: "{{.event_type}}-{{.aggregate_type}}", Key: "{{.aggregate_id}}{{.event_id}}{{.correlation_id}}"}, ""},
		{"no topic", KafkaRoute{Key: "{{.event_id}}"}, "the topic is empty"},
		{"a name that rows do not have", KafkaRoute{Topic: "t", Key: "{{.customer}}"}, "customer"},
		{"a template that is not closed", KafkaRoute{Topic: "{{.event_type"}, "topic"},
		{"no name for a topic", KafkaRoute{Topic: "order events"}, "order events"},
	}
	for _, test := range tests {
		if err := test.route.Check(); test.says == "" {
			require.NoError(t, err, test.name)
		} else {
			require.ErrorContains(t, err, test.says, test.name)
		}
	}
}
