package activities_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/kafka"
	"herald/internal/kafka/kafkatest"
	"herald/internal/notification"
	"herald/internal/source"
)

// relaying is a service whose rows are sent in batches, and the broker that they go to.
type relaying struct {
	*service
	cluster *kafkatest.Cluster
}

var refusedTwice = notification.SourceConfig{
	Name: "orders", Dialect: notification.OrderService, Kafka: &notification.KafkaRoute{Topic: "{{.event_type}}", Key: "{{.aggregate_id}}"},
	Mode: notification.BatchMode, Retries: 2, RetryInterval: 50 * time.Millisecond, BatchSize: 20, Pollers: 1,
}

func newRelaying(t *testing.T, create string, config notification.SourceConfig, topics ...string) relaying {
	t.Helper()
	r := relaying{newService(t, create, config), kafkatest.NewCluster(t)}
	for _, topic := range topics {
		kafkatest.CreateTopic(t, r.cluster.Address, topic, map[string]string{"max.message.bytes": "5000"})
	}
	return r
}

// relayTable is a table as the worker gives it to a relay.
type relayTable struct{ *source.Table }

func (t relayTable) Snapshot(ctx context.Context) (activities.RelaySnapshot, error) {
	return t.Table.Snapshot(ctx)
}

// relay is what one process has of the source.
func (r relaying) relay(t *testing.T) *activities.Relay {
	t.Helper()
	table, err := source.Open(t.Context(), r.config)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	producer, err := kafka.New(kafka.Settings{Brokers: []string{r.cluster.Address}, ClientID: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { producer.Close(context.WithoutCancel(t.Context())) })
	return &activities.Relay{Source: r.config, Table: relayTable{table}, Store: r.herald, Topics: producer}
}

// pollBatches starts a poller of a process of its own.
func (r relaying) pollBatches(t *testing.T) *poller {
	t.Helper()
	return pollRelay(t, r.relay(t))
}

func pollRelay(t *testing.T, relay *activities.Relay) *poller {
	t.Helper()
	return poll(t, nil, nil, activities.Source{Relay: relay})
}

// order writes a row of the order service's: of an order, to a topic, with a payload.
func (r relaying) order(t *testing.T, n, order int, topic, payload string) {
	t.Helper()
	exec(t, r.business, `
		INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		VALUES ($1, 'Order', $2, $3, $4, 'NEW', timestamp '2026-11-21 10:00' + $5 * interval '1 millisecond')`,
		orderID(n), aggregate(order), topic, payload, n)
}

func aggregate(order int) string { return orderID(9_000_000 + order) }

// many writes rows from to to, of as many orders in turn.
func (r relaying) many(t *testing.T, from, to, orders int, topic string) {
	t.Helper()
	exec(t, r.business, `
		INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Order',
		       ('00000000-0000-4000-8000-' || lpad((9000000 + n % $3)::text, 12, '0'))::uuid, $4, '{}', 'NEW',
		       timestamp '2026-11-21 10:00' + n * interval '1 millisecond'
		FROM   generate_series($1::int, $2::int) AS n`, from, to, orders, topic)
}

// byKey are the ids of the events of a topic, by the key of their records, in their order.
// A repeat of what came before is left out, and counted.
func (r relaying) byKey(t *testing.T, topic string, atLeast int) (ids map[string][]string, repeats int) {
	t.Helper()
	ids, seen := map[string][]string{}, map[string]bool{}
	for _, record := range kafkatest.Records(t, r.cluster.Address, topic, atLeast) {
		id := headers(record)["event_id"]
		if seen[id] {
			repeats++
			continue
		}
		seen[id] = true
		ids[string(record.Key)] = append(ids[string(record.Key)], id)
	}
	return ids, repeats
}

// requireOrder requires that the rows from to to, of as many orders in turn, came in the
// order of each.
func (r relaying) requireOrder(t *testing.T, topic string, from, to, orders int) (repeats int) {
	t.Helper()
	got, repeats := r.byKey(t, topic, to-from+1)
	want := map[string][]string{}
	for n := from; n <= to; n++ {
		want[aggregate(n%orders)] = append(want[aggregate(n%orders)], orderID(n))
	}
	require.Equal(t, want, got)
	return repeats
}

// noise is no smaller when it is compressed.
func noise(bytes int) string {
	var text strings.Builder
	for text.Len() < bytes {
		text.WriteString(rand.Text())
	}
	return text.String()[:bytes]
}

// brokenTable is one whose marks fail for as long as it is told to.
type brokenTable struct {
	activities.RelayTable
	mu     sync.Mutex
	broken bool
	tries  int
}

func (b *brokenTable) MarkSent(ctx context.Context, keys []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tries++; b.broken {
		return errors.New("the table is away")
	}
	return b.RelayTable.MarkSent(ctx, keys)
}

func (b *brokenTable) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = false
}

func (b *brokenTable) tried() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tries
}

func sourceOf(relay *activities.Relay) activities.Source { return activities.Source{Relay: relay} }

// countedTopics are topics that count how often they are asked.
type countedTopics struct {
	activities.RelayTopics
	calls atomic.Int32
}

func (c *countedTopics) ProduceAll(ctx context.Context, records []notification.Record) []error {
	defer c.calls.Add(1)
	return c.RelayTopics.ProduceAll(ctx, records)
}

// countedTable is a table that counts how often nothing of it is free.
type countedTable struct {
	activities.RelayTable
	missed atomic.Int32
}

func (c *countedTable) Own(ctx context.Context, share int) (context.Context, map[int]bool, func(), error) {
	owned, slots, release, err := c.RelayTable.Own(ctx, share)
	if err == nil && len(slots) == 0 {
		c.missed.Add(1)
	}
	return owned, slots, release, err
}
