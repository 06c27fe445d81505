package activities_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/kafka/kafkatest"
	"herald/internal/notification"
	"herald/internal/source/sourcetest"
)

// Whatever a service has written comes out of its topic byte for byte, with the headers
// that its row has and no others.
func TestRelayedBytes(t *testing.T) {
	t.Parallel()

	large := strings.Repeat("é", 400_000)
	tests := []struct {
		name     string
		payload  any // nil: null
		forWhom  bool
		contents string
	}{
		{"odd whitespace", "{ \"b\":1,\n\t\"a\": 1.50 }\r\n ", true, "application/json"},
		{"keys twice, and not in order", `{"b":1,"a":2,"b":3}`, true, "application/json"},
		{"escapes", `{"name":"caf\u00e9 \/ é \ud83c\udf7d"}`, true, "application/json"},
		{"numbers that no float holds", `{"n":12345678901234567890.10,"e":1E400}`, true, "application/json"},
		{"a character that Herald's own table cannot hold", `{"name":"\u0000"}`, false, "application/json"},
		{"an array", `[1, 2]`, false, "application/json"},
		{"the word null", `null`, false, "application/json"},
		{"no JSON", "<order>è</order>", false, "text/plain; charset=utf-8"},
		{"empty", "", false, "text/plain; charset=utf-8"},
		{"null", nil, false, ""},
		{"larger than Herald's own table holds", `{"text":"` + large + `"}`, false, "application/json"},
	}
	p := newProducing(t, walletHub(t), map[string]map[string]string{"FundsAdded-out-0": nil})
	exec(t, p.business, "ALTER TABLE outbox ALTER COLUMN payload DROP NOT NULL")
	for i, tt := range tests {
		exec(t, p.business, "INSERT INTO outbox (event_type, payload, correlation_id) VALUES ('FundsAdded', $1, CASE WHEN $2 THEN 'c-1' END)", tt.payload, i == 0)
	}
	p.adopt(t, len(tests))

	for i, tt := range tests {
		id := fmt.Sprintf("wallet-%d", i+1)
		require.Equal(t, 1, events(t, p.herald, fmt.Sprintf("event_id = '%s' AND (payload IS NOT NULL) = %t", id, tt.forWhom)), tt.name)
		_, err := p.produce(id, twice)
		require.NoError(t, err, tt.name)
	}
	for i, record := range kafkatest.Records(t, p.cluster.Address, "FundsAdded-out-0", len(tests)) {
		tt, want := tests[i], map[string]string{"event_id": fmt.Sprintf("wallet-%d", i+1), "event_type": "FundsAdded", "source": "wallet"}
		if tt.contents != "" {
			want["content-type"] = tt.contents
		}
		if i == 0 {
			want["correlation_id"] = "c-1"
		}
		require.Equal(t, want, headers(record), tt.name)
		require.Equal(t, tt.payload == nil, record.Value == nil, tt.name)
		if tt.payload != nil {
			require.True(t, tt.payload == string(record.Value), tt.name)
		}
	}
	require.Equal(t, len(tests), p.rows(t, "sent"))
}

// The clock of a service is not Herald's: its timestamps without a zone are those of the
// zone of its source.
func TestRelayedFromAnotherZone(t *testing.T) {
	t.Parallel()

	kolkata, err := time.LoadLocation("Asia/Kolkata")
	require.NoError(t, err)
	s := newService(t, sourcetest.Orders("outbox"), notification.SourceConfig{Name: "orders", Dialect: notification.OrderService, Kafka: toOrders, Zone: kolkata})
	p := newProducing(t, s, map[string]map[string]string{"order-events": nil})
	p.orders(t, 1, 1)
	exec(t, p.business, "UPDATE outbox SET created_at = timezone('Asia/Kolkata', now() - interval '90 seconds')")

	state, err := p.table.State(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 90, state.OldestPending.Seconds(), patience.Seconds())
	p.adopt(t, 1)
	require.Equal(t, 1, events(t, p.herald, "now() - created_at BETWEEN '89 seconds' AND '10 minutes'"))
	ages, err := p.herald.Acknowledge(t.Context(), []string{orderID(1)})
	require.NoError(t, err)
	require.InDelta(t, 90, ages[0].Seconds(), patience.Seconds())
	p.poll(t, &launcher{})
	p.awaitRows(t, 1, "status = 'SENT'") // as after a crash before the mark: it is no other row
	exec(t, p.herald, "UPDATE event_outbox SET acknowledged_at = NULL")
	exec(t, p.business, "UPDATE outbox SET status = 'NEW', sent_at = NULL")

	_, err = p.produce(orderID(1), twice)
	require.NoError(t, err)
	require.Equal(t, 1, p.rows(t, "sent_at BETWEEN timezone('Asia/Kolkata', now() - interval '1 minute') AND timezone('Asia/Kolkata', now())"))
}

// A row is sent whatever its service's clock said, and no age is nonsense.
func TestRelayedTimes(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"order-events": nil})
	times := []string{"0044-03-15 10:00 BC", "0001-01-01", "9999-12-31 23:59:59.999999", "294276-12-31", "-infinity", "infinity"}
	p.orders(t, 1, len(times))
	for i, at := range times {
		exec(t, p.business, "UPDATE outbox SET created_at = $2::text::timestamp WHERE id = $1", orderID(i+1), at)
	}
	p.adopt(t, len(times))
	for i, at := range times {
		ages, err := p.herald.Acknowledge(t.Context(), []string{orderID(i + 1)})
		require.NoError(t, err, at)
		require.GreaterOrEqual(t, ages[0], time.Duration(0), at)
		exec(t, p.herald, "UPDATE event_outbox SET acknowledged_at = NULL")
		_, err = p.produce(orderID(i+1), twice)
		require.NoError(t, err, at)
	}
	require.Equal(t, len(times), p.rows(t, "status = 'SENT'"))
}

// relay is a Temporal whose workflows do nothing but produce, and end at once.
type relay struct {
	p producing
}

func (r *relay) StartEvent(_ context.Context, event notification.PendingEvent) error {
	_, err := r.p.produce(event.ID, twice)
	return err
}

// A backlog of ten thousand rows goes to its topic, each at least once, by the pollers of
// two processes. It stays in its own table meanwhile: nine thousand rows more weigh 180 MB,
// and what the pollers hold hardly grows.
func TestRelayedBacklog(t *testing.T) {
	t.Parallel()

	const few, many, bytes = 1_000, 10_000, 20_000
	p := newProducing(t, walletHub(t), map[string]map[string]string{"FundsAdded-out-0": nil})
	temporal := &relay{p: p}
	relayed := func(from, to int) (peak uint64) {
		exec(t, p.business, `INSERT INTO outbox (event_type, payload) SELECT 'FundsAdded', '{"text": "' || repeat('x', $3) || '"}' FROM generate_series($1::int, $2::int)`, from, to, bytes)
		first, second := poll(t, p.outbox, temporal, eager), poll(t, p.another(), temporal, eager)
		require.Eventually(t, func() bool {
			peak = max(peak, held())
			return p.rows(t, "sent") == to
		}, 10*patience, time.Second)
		require.Equal(t, to-from+1, first.stop(t).Started+second.stop(t).Started)
		return peak
	}
	small := relayed(1, few)
	large := relayed(few+1, many)

	require.Less(t, large, small+(many-few)*bytes/2)
	require.Len(t, kafkatest.EventIDs(t, p.cluster.Address, "FundsAdded-out-0", many), many)
	require.Equal(t, many, events(t, p.herald, "acknowledged_at IS NOT NULL AND status = 'PROCESSED'"))
}

// held is how much memory this process cannot give back.
func held() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// A row whose id another source has fails alone, and its event has an id of its own. An
// operator sends it all the same, with that id.
func TestRelayedIDOfTwoSources(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"order-events": nil})
	exec(t, p.herald, "INSERT INTO event_outbox (event_id, source, event_type) VALUES ($1, 'shop', 'OrderCreated')", orderID(1))
	p.orders(t, 1, 2)
	p.adopt(t, 1)
	p.awaitRows(t, 1, "status = 'FAILED' AND error_message ~ 'another source' AND id = '"+orderID(1)+"'")

	id := orderID(1) + "~orders"
	retried, err := p.herald.RetryEvent(t.Context(), id)
	require.NoError(t, err)
	require.True(t, retried)
	require.NoError(t, p.table.Reopen(t.Context(), []string{p.config.Key(id)}))
	p.adopt(t, 2)
	for _, id := range []string{id, orderID(2)} {
		_, err = p.produce(id, twice)
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int{id: 1, orderID(2): 1}, kafkatest.EventIDs(t, p.cluster.Address, "order-events", 2))
	require.Equal(t, 2, p.rows(t, "status = 'SENT' AND error_message IS NULL"))
	require.Equal(t, 1, events(t, p.herald, "source = 'shop' AND status = 'PENDING' AND acknowledged_at IS NULL"), "the other one is as it was")
}

// Ids begin anew where a service empties its table. A row is not marked as sent because an
// earlier one had its id: it fails aloud, and an operator sends it.
func TestRelayedIDsThatBeginAnew(t *testing.T) {
	t.Parallel()

	p := newProducing(t, walletHub(t), map[string]map[string]string{"FundsAdded-out-0": nil})
	exec(t, p.business, "INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}')")
	p.adopt(t, 1)
	_, err := p.produce("wallet-1", twice)
	require.NoError(t, err)

	exec(t, p.business, "TRUNCATE outbox RESTART IDENTITY")
	exec(t, p.business, "INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}'), ('FundsAdded', '{}')")
	p.adopt(t, 2)
	require.Equal(t, 2, p.rows(t, "NOT sent"))
	require.Equal(t, 1, events(t, p.herald, "event_id = 'wallet-1~wallet' AND status = 'FAILED' AND error_message ~ 'earlier row'"))

	_, err = p.herald.RetryEvent(t.Context(), "wallet-1~wallet")
	require.NoError(t, err)
	p.adopt(t, 3)
	_, err = p.produce("wallet-1~wallet", twice)
	require.NoError(t, err)
	require.Equal(t, 1, p.rows(t, "sent AND id = 1"))
}
