package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/relay/dialects/dialecttest"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
)

// patience is the limit for results that should come in milliseconds.
const patience = time.Minute

// service is a business service with its outbox database, Herald's database, and a broker.
type service struct {
	business, herald *db.DB
	source           relay.Source
	cluster          *kafkatest.Cluster
}

// toTopics routes each row to the topic in its event type, in the order of its aggregate.
var toTopics = &relay.KafkaRoute{Topic: "{{.event_type}}", Key: "{{.aggregate_id}}"}

// orders returns the source of an order service. A record has two retries.
func orders() relay.Source {
	return relay.Source{
		Name: "orders", Dialect: relay.OrderService, Kafka: toTopics, Retries: 2, RetryInterval: 20 * time.Millisecond, BatchSize: 20,
	}
}

// wallets returns the source of a wallet hub. Its rows have no key, and its table cannot mark
// failures.
func wallets() relay.Source {
	return relay.Source{
		Name: "wallet", Dialect: relay.WalletHub, Kafka: &relay.KafkaRoute{Topic: "{{.event_type}}"},
		Aggregate: &relay.Aggregate{Type: "CUSTOMER", IDPath: "customerId"},
		Retries:   relay.RetryForever, RetryInterval: 20 * time.Millisecond, BatchSize: 20,
	}
}

func newService(t *testing.T, source relay.Source, topics ...string) *service {
	t.Helper()
	source.DatabaseURL, source.Table, source.Zone, source.PollInterval = postgrestest.URL(t), "public.outbox", time.UTC, 10*time.Millisecond
	source.Pollers = max(source.Pollers, 1)
	business, err := db.Open(t.Context(), source.DatabaseURL, "business")
	require.NoError(t, err)
	t.Cleanup(business.Close)
	create := dialecttest.Orders("outbox") + "CREATE INDEX ON outbox (status, created_at)"
	if source.Dialect == relay.WalletHub {
		create = dialecttest.Wallets("outbox") + "CREATE INDEX ON outbox (sent, id)"
	}
	exec(t, business, create)
	s := &service{business, postgrestest.New(t), source, kafkatest.NewCluster(t)}
	for _, topic := range topics {
		s.createTopic(t, topic)
	}
	return s
}

func (s *service) createTopic(t *testing.T, topic string) {
	t.Helper()
	kafkatest.CreateTopic(t, s.cluster.Address, topic, map[string]string{"max.message.bytes": "5000"})
}

// walk returns one process's walk through the source.
func (s *service) walk(t *testing.T) *relay.Mover {
	t.Helper()
	table, err := dialects.Open(t.Context(), s.source)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	walk := &relay.Mover{Source: s.source, Table: table, Memory: relay.On(s.herald)}
	if s.source.Kafka != nil {
		producer, err := kafka.New(kafka.Settings{Brokers: []string{s.cluster.Address}, ClientID: "test"})
		require.NoError(t, err)
		t.Cleanup(func() { producer.Close(context.WithoutCancel(t.Context())) })
		walk.Topics = producer
	}
	return walk
}

// poller is a poller in a separate process.
type poller struct {
	stopped atomic.Bool
	done    chan struct{}
	result  relay.PollResult

	refused, untold, acknowledged atomic.Int64 // rows
}

func (p *poller) Refused(records int)        { p.refused.Add(int64(records)) }
func (p *poller) Untold(rows int)            { p.untold.Add(int64(rows)) }
func (p *poller) Acknowledged(time.Duration) { p.acknowledged.Add(1) }

// start starts a poller, which stops at the end of the test, or when a condition is true.
func start(t *testing.T, walk *relay.Mover, ends ...func() bool) *poller {
	t.Helper()
	p := &poller{done: make(chan struct{})}
	ctx := context.WithoutCancel(t.Context())
	run := relay.Run{
		Log: slog.New(slog.DiscardHandler), Metrics: p,
		Stopped: func() bool {
			return p.stopped.Load() || slices.ContainsFunc(ends, func(ended func() bool) bool { return ended() })
		},
		Sleep:    func(d time.Duration) { time.Sleep(min(d, 50*time.Millisecond)) },
		Unquoted: func(err error) error { return err },
	}
	go func() {
		defer close(p.done)
		p.result = walk.Poll(ctx, run)
	}()
	t.Cleanup(func() {
		p.stopped.Store(true)
		<-p.done
	})
	return p
}

// poll starts a poller in a separate process.
func (s *service) poll(t *testing.T) *poller {
	t.Helper()
	return start(t, s.walk(t))
}

func (p *poller) stop(t *testing.T) relay.PollResult {
	t.Helper()
	p.stopped.Store(true)
	select {
	case <-p.done:
	case <-time.After(patience):
		require.Fail(t, "the poller does not end")
	}
	return p.result
}

func exec(t *testing.T, s *db.DB, sql string, args ...any) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func count(t *testing.T, s *db.DB, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+sql, args...).Scan(&n))
	return n
}

// rows counts the rows of the service's table that match a condition.
func (s *service) rows(t *testing.T, condition string) int {
	t.Helper()
	return count(t, s.business, "outbox WHERE "+condition)
}

// await waits until exactly want rows of the service's table match a condition.
func (s *service) await(t *testing.T, want int, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return s.rows(t, condition) == want }, patience, 5*time.Millisecond, condition)
}

// known waits until exactly want rows in Herald's memory match a condition.
func (s *service) known(t *testing.T, want int, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return count(t, s.herald, "source_row WHERE "+condition) == want }, patience, 5*time.Millisecond,
		condition)
}

// backedOff waits until exactly want topics back off.
func (s *service) backedOff(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return count(t, s.herald, "source_topic") == want }, patience, 5*time.Millisecond)
}

// orderID returns the row id of the n-th order.
func orderID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func aggregate(order int) string { return orderID(9_000_000 + order) }

// order inserts a row of the order service.
func (s *service) order(t *testing.T, n, order int, topic, payload string) {
	t.Helper()
	exec(t, s.business, `
		INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		VALUES ($1, 'Order', $2, $3, $4, 'NEW', timestamp '2026-11-21 10:00' + $5 * interval '1 millisecond')`,
		orderID(n), aggregate(order), topic, payload, n)
}

// many inserts the rows `from` to `to`, spread evenly over this number of orders.
func (s *service) many(t *testing.T, from, to, orders int, topic string) {
	t.Helper()
	exec(t, s.business, `
		INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Order',
		       ('00000000-0000-4000-8000-' || lpad((9000000 + n % $3)::text, 12, '0'))::uuid, $4, '{}', 'NEW',
		       timestamp '2026-11-21 10:00' + n * interval '1 millisecond'
		FROM   generate_series($1::int, $2::int) AS n`, from, to, orders, topic)
}

// spied is a table that keeps the keys of the first page read.
type spied struct {
	relay.Table
	first chan []string
}

func (s spied) Snapshot(ctx context.Context) (relay.Snapshot, error) {
	snapshot, err := s.Table.Snapshot(ctx)
	return spiedSnapshot{snapshot, s.first}, err
}

type spiedSnapshot struct {
	relay.Snapshot
	first chan []string
}

func (s spiedSnapshot) Page(ctx context.Context, after string, limit int) ([]relay.Row, string, error) {
	rows, next, err := s.Snapshot.Page(ctx, after, limit)
	var keys []string
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	select {
	case s.first <- keys:
	default: // it has the first page
	}
	return rows, next, err
}

// byKey returns the event ids in a topic, in order, grouped by record key. It skips and counts
// repeats.
func (s *service) byKey(t *testing.T, topic string, atLeast int) (ids map[string][]string, repeats int) {
	t.Helper()
	ids, seen := map[string][]string{}, map[string]bool{}
	for _, record := range kafkatest.Records(t, s.cluster.Address, topic, atLeast) {
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

// requireOrder asserts that the rows `from` to `to`, spread over this number of orders, arrived in
// sequence within each order.
func (s *service) requireOrder(t *testing.T, topic string, from, to, orders int) (repeats int) {
	t.Helper()
	got, repeats := s.byKey(t, topic, to-from+1)
	want := map[string][]string{}
	for n := from; n <= to; n++ {
		want[aggregate(n%orders)] = append(want[aggregate(n%orders)], orderID(n))
	}
	require.Equal(t, want, got)
	return repeats
}

func headers(record *kgo.Record) map[string]string {
	found := map[string]string{}
	for _, header := range record.Headers {
		found[header.Key] = string(header.Value)
	}
	return found
}
