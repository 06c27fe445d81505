package relay_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"herald/internal/db/postgrestest"
	"herald/internal/relay"
	"herald/internal/relay/kafka/kafkatest"
)

// Rows are sent once, in the order of their keys, byte for byte. Herald's database keeps nothing.
func TestWalk(t *testing.T) {
	t.Parallel()

	s := newService(t, orders(), "orders-out")
	s.many(t, 1, 100, 7, "orders-out")
	p := s.poll(t)
	s.await(t, 100, "status = 'SENT' AND sent_at IS NOT NULL")
	s.order(t, 101, 101%7, "orders-out", "{ \"no\":  1.0 }")
	s.await(t, 101, "status = 'SENT'")

	require.Equal(t, 101, p.stop(t).Sent)
	require.EqualValues(t, 101, p.acknowledged.Load())
	require.Zero(t, s.requireOrder(t, "orders-out", 1, 101, 7))
	records := kafkatest.Records(t, s.cluster.Address, "orders-out", 101)
	require.Equal(t, "{ \"no\":  1.0 }", string(records[100].Value))
	require.Equal(t, map[string]string{
		"event_id": orderID(101), "event_type": "orders-out", "aggregate_type": "Order", "aggregate_id": aggregate(101 % 7),
		"source": "orders", "content-type": "application/json",
	}, headers(records[100]))
	require.Zero(t, count(t, s.herald, "event_outbox"))
	require.Zero(t, count(t, s.herald, "source_row"))
}

// A missing topic backs off. Its rows count no refusals and never fail. Later rows of other topics
// are sent, even with the same keys.
func TestWalkPassesOverAMissingTopic(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Retries, source.People = 0, true
	s := newService(t, source, "orders-out")
	s.many(t, 1, 1000, 10, "missing")
	s.many(t, 1001, 1100, 10, "orders-out")
	p := s.poll(t)
	s.await(t, 100, "status = 'SENT'")
	s.many(t, 1101, 1200, 10, "orders-out") // new rows, while the back sweeps
	s.await(t, 200, "status = 'SENT'")
	require.Equal(t, 1000, s.rows(t, "status = 'NEW'"))
	require.Zero(t, count(t, s.herald, "source_row"))
	require.Equal(t, 1, count(t, s.herald, "source_topic WHERE source = 'orders' AND topic = 'missing' AND error ~ 'UNKNOWN_TOPIC'"))
	require.Equal(t, 1200, count(t, s.herald, "event_outbox WHERE source = 'orders' AND status = 'PENDING' AND aggregate_type = 'Order'"),
		"people are notified anyway")
	require.Zero(t, s.requireOrder(t, "orders-out", 1001, 1200, 10))

	require.Zero(t, p.stop(t).Failed)
	s.createTopic(t, "missing")
	exec(t, s.herald, "DELETE FROM source_topic") // like a poller of other keys after sending its rows
	s.many(t, 1201, 1300, 10, "missing")
	s.poll(t)
	s.await(t, 1300, "status = 'SENT'")
	ids, _ := s.byKey(t, "missing", 1100)
	for _, ofKey := range ids {
		require.IsIncreasing(t, ofKey)
	}
}

// Many rows of a missing topic delay no other rows. The next poller, in any process, continues after them:
// its first page has the new rows.
func TestWalkPassesOverManyRows(t *testing.T) {
	t.Parallel()

	source := orders()
	source.BatchSize = 100
	s := newService(t, source, "orders-out")
	s.many(t, 1, 20_000, 1000, "missing")
	s.many(t, 20_001, 20_100, 10, "orders-out")
	p := s.poll(t)
	s.await(t, 100, "status = 'SENT'")
	require.Zero(t, count(t, s.herald, "source_row"))
	for n := range 3 {
		p.stop(t)
		s.many(t, 20_101+n, 20_101+n, 10, "orders-out")
		walk := s.walk(t)
		table := spied{walk.Table, make(chan []string, 1)}
		walk.Table = table
		p = start(t, walk)
		s.await(t, 101+n, "status = 'SENT'")
		require.Contains(t, <-table.first, orderID(20_101+n))
	}
	require.Equal(t, 20_000, s.rows(t, "status = 'NEW'"))

	p.stop(t)
	s.source.Kafka = &relay.KafkaRoute{Topic: "orders-out"}
	s.poll(t)
	s.await(t, 20_103, "status = 'SENT'") // with another route, it begins at the first row
}

// A topic whose partition has no leader backs off, like a missing topic. Later rows are sent, even
// with the same keys.
func TestWalkPassesOverATopicWithoutALeader(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Retries = 0
	s := newService(t, source, "orders-out", "leaderless")
	end := s.cluster.Refuse("leaderless", kerr.NotLeaderForPartition)
	s.many(t, 1, 100, 10, "leaderless")
	s.many(t, 101, 200, 10, "orders-out")
	s.poll(t)
	s.await(t, 100, "event_type = 'orders-out' AND status = 'SENT'")
	require.Equal(t, 1, count(t, s.herald, "source_topic WHERE topic = 'leaderless' AND error ~ 'NOT_LEADER'"))
	end()
	s.await(t, 200, "status = 'SENT'")
	s.backedOff(t, 0)
	require.Zero(t, s.requireOrder(t, "leaderless", 1, 100, 10))
}

// Two pollers keep stopping and starting, while topics refuse records or are created. Each key
// keeps its order, and nothing is sent twice.
func TestWalkHandsOver(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Retries, source.Pollers = relay.RetryForever, 2
	s := newService(t, source, "orders-out", "refusing")
	var pollers sync.WaitGroup
	t.Cleanup(pollers.Wait)
	for range 2 {
		walk := s.walk(t)
		pollers.Go(func() {
			for t.Context().Err() == nil {
				asked := 0 // after each page and each scan
				<-start(t, walk, func() bool { asked++; return t.Context().Err() != nil || asked > 30 }).done
			}
		})
	}
	for n := 0; n < 6; n++ {
		end := s.cluster.Refuse("refusing", kerr.PolicyViolation)
		s.many(t, 90*n+1, 90*n+30, 30, "refusing")
		s.many(t, 90*n+31, 90*n+60, 30, "orders-out") // one after each of them
		s.many(t, 90*n+61, 90*n+90, 30, "missing")
		s.known(t, 30, "refusals > 1")
		end()
	}
	s.await(t, 360, "status = 'SENT'")
	s.createTopic(t, "missing")
	s.await(t, 540, "status = 'SENT'")
	for _, topic := range []string{"refusing", "orders-out", "missing"} {
		ids, repeats := s.byKey(t, topic, 180)
		require.Zero(t, repeats)
		for _, ofKey := range ids {
			require.Len(t, ofKey, 6)
			require.IsIncreasing(t, ofKey)
		}
	}
}

// A refused row holds only the rows of its key, until it has failed. Then these rows are sent in
// order. A row that its service resets is sent again.
func TestWalkHoldsTheKeyOfARefusedRow(t *testing.T) {
	t.Parallel()

	source := orders()
	source.RetryInterval = 500 * time.Millisecond
	s := newService(t, source, "orders-out", "refusing")
	end := s.cluster.Refuse("refusing", kerr.PolicyViolation)
	s.order(t, 1, 1, "orders-out", "{}")
	s.order(t, 2, 1, "refusing", "{}")
	s.order(t, 3, 1, "orders-out", "{}")
	s.many(t, 10, 69, 30, "orders-out") // two of these rows belong to order 1
	p := s.poll(t)
	s.await(t, 1+60-2, "status = 'SENT'")
	s.known(t, 1, "row_key = '"+orderID(2)+"' AND event_id = row_key AND refusals >= 1 AND error ~ 'POLICY_VIOLATION'")

	s.await(t, 1, "status = 'FAILED' AND error_message ~ 'POLICY_VIOLATION'")
	s.known(t, 1, "row_key = '"+orderID(2)+"' AND failed_at IS NOT NULL AND marked_at IS NOT NULL AND refusals = 3")
	s.await(t, 62, "status = 'SENT'")
	ids, repeats := s.byKey(t, "orders-out", 62)
	require.Zero(t, repeats)
	require.Equal(t, []string{orderID(1), orderID(3), orderID(31), orderID(61)}, ids[aggregate(1)])
	require.Equal(t, 1, p.stop(t).Failed)
	require.EqualValues(t, 3, p.refused.Load())

	end()
	s.poll(t)
	exec(t, s.business, "UPDATE outbox SET status = 'NEW' WHERE status = 'FAILED'")
	s.await(t, 63, "status = 'SENT' AND error_message IS NULL")
	s.known(t, 0, "true")
	require.Len(t, kafkatest.Records(t, s.cluster.Address, "refusing", 1), 1)
}

// Many refused rows, each with a different key, delay no other keys. Once they are sent, the rows after
// them follow in the order of their keys.
func TestWalkOfManyRefusedRows(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Retries, source.RetryInterval = relay.RetryForever, 200*time.Millisecond
	s := newService(t, source, "orders-out", "refusing")
	end := s.cluster.Refuse("refusing", kerr.PolicyViolation)
	s.many(t, 1, 300, 300, "refusing")
	s.many(t, 301, 600, 300, "orders-out") // one after each of them
	exec(t, s.business, "UPDATE outbox SET aggregate_id = $1 WHERE id = $2", aggregate(999), orderID(600))
	s.poll(t)
	s.await(t, 1, "status = 'SENT'") // the row with another key
	s.known(t, 300, "refusals > 0")
	s.many(t, 601, 900, 300, "orders-out")
	require.Equal(t, 1, s.rows(t, "status = 'SENT'"))
	end()
	s.await(t, 900, "status = 'SENT'")
	s.known(t, 0, "true")
	ids, _ := s.byKey(t, "orders-out", 600)
	for n := 1; n < 300; n++ {
		require.Equal(t, []string{orderID(300 + n), orderID(600 + n)}, ids[aggregate(n)])
	}
}

// A wallet hub's table cannot mark failures, so Herald remembers the failed rows.
func TestWalkOfWallets(t *testing.T) {
	t.Parallel()

	s := newService(t, wallets(), "FundsAdded", "Unknown")
	end := s.cluster.Refuse("Unknown", kerr.PolicyViolation)
	exec(t, s.business,
		`INSERT INTO outbox (event_type, payload) SELECT CASE n WHEN 3 THEN 'Unknown' WHEN 5 THEN 'No topic' ELSE 'FundsAdded' END, 'n' || n `+
			`FROM generate_series(1, 50) AS n`)
	s.poll(t)
	s.await(t, 48, "sent")
	s.known(t, 1, "row_key = '3' AND event_id = 'wallet-3' AND failed_at IS NULL AND refusals > 2 AND error ~ 'Unknown'")
	s.known(t, 1, "row_key = '5' AND failed_at IS NOT NULL AND refusals = 1")
	end()
	s.await(t, 49, "sent")
	s.known(t, 1, "true") // row 5
	require.Equal(t, "n3", string(kafkatest.Records(t, s.cluster.Address, "Unknown", 1)[0].Value))
}

// A row that cannot notify people still reaches its topic. The list of rows shows the problem.
func TestWalkOfRowsThatNotifyNobody(t *testing.T) {
	t.Parallel()

	source := wallets()
	source.People = true
	s := newService(t, source, "FundsAdded")
	postgrestest.Add(t, s.herald.Pool, postgrestest.Event{ID: "wallet-2", Type: "OTHER", AggregateID: "1"})
	exec(t, s.business,
		`INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', 'no JSON'), ('FundsAdded', '{"customerId":7}'), `+
			`('FundsAdded', '{"customerId":7}'), ('FundsAdded', '{"customerId":"\u0000"}')`)
	p := s.poll(t)
	s.await(t, 4, "sent")
	s.known(t, 3, "people_error <> '' AND sent_at IS NOT NULL AND marked_at IS NOT NULL AND failed_at IS NULL")
	require.Equal(t, 1, count(t, s.herald, "event_outbox WHERE source = 'wallet' AND event_id = 'wallet-3' AND aggregate_id = '7'"))
	require.EqualValues(t, 3, p.untold.Load())
}

// A row that cannot notify people fails if its source has no topic.
func TestWalkWithoutATopic(t *testing.T) {
	t.Parallel()

	source := orders()
	source.People, source.Kafka = true, nil
	s := newService(t, source)
	s.order(t, 1, 1, "OrderCreated", "no JSON")
	s.order(t, 2, 1, "OrderCreated", "{}")
	s.poll(t)
	s.await(t, 1, "status = 'FAILED' AND error_message ~ 'JSON'")
	s.await(t, 1, "status = 'SENT'")
	s.known(t, 1, "failed_at IS NOT NULL AND people_error <> ''")
}

// The relay waits for an unreachable broker: nothing fails, nothing is lost, and the order stays.
func TestWalkWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Retries = 0
	s := newService(t, source, "orders-out")
	s.many(t, 1, 300, 9, "orders-out")
	s.poll(t)
	require.Eventually(t, func() bool { return s.rows(t, "status = 'SENT'") > 20 }, patience, time.Millisecond)
	s.cluster.Stop()
	s.many(t, 301, 400, 9, "orders-out")
	s.cluster.Start(t)
	s.await(t, 400, "status = 'SENT'")
	s.requireOrder(t, "orders-out", 1, 400, 9)
	require.Zero(t, count(t, s.herald, "source_row"))
}

// Each key belongs to one poller at a time, in all processes. Nothing is sent twice, and rows of one key
// keep their order.
func TestWalkWithTwoPollers(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Pollers = 2
	s := newService(t, source, "orders-out")
	walk := s.walk(t)
	pollers := []*poller{start(t, walk), start(t, walk), s.poll(t)}
	for from := 1; from < 600; from += 100 {
		s.many(t, from, from+99, 11, "orders-out")
	}
	s.await(t, 600, "status = 'SENT'")
	sent := 0
	for _, p := range pollers {
		own := p.stop(t).Sent
		require.NotEqual(t, 600, own, "both pollers got keys")
		sent += own
	}
	require.Equal(t, 600, sent)
	require.Zero(t, s.requireOrder(t, "orders-out", 1, 600, 11))
}

// A service deletes a row during its retries. That releases the row's key, and the rows that it held are
// sent in order, even if the relay has passed over many other rows.
func TestWalkForgetsRowsThatAreGone(t *testing.T) {
	t.Parallel()

	s := newService(t, orders(), "orders-out")
	postgrestest.Add(t, s.herald.Pool, postgrestest.SourceRow{
		Key: orderID(1), EventID: orderID(1), KeyHash: relay.KeyHash([]byte(aggregate(1))), Refusals: 1,
		NextAttemptAt: time.Now().Add(-time.Hour),
	})
	s.order(t, 2, 1, "orders-out", "{}")
	s.many(t, 10, 109, 1000, "missing")
	s.order(t, 200, 1, "orders-out", "{}")
	s.poll(t)
	s.await(t, 2, "status = 'SENT'")
	s.known(t, 0, "true")
	ids, _ := s.byKey(t, "orders-out", 2)
	require.Equal(t, []string{orderID(2), orderID(200)}, ids[aggregate(1)])
}

// Herald's own outbox uses the same walk to a topic. Older events are not sent.
func TestWalkOfHeraldsOwnOutbox(t *testing.T) {
	t.Parallel()

	s := newService(t, relay.Source{Name: "herald", Kafka: toTopics, Retries: 2, RetryInterval: time.Second, BatchSize: 20}, "T")
	s.source.DatabaseURL = s.herald.Pool.Config().ConnString()
	emit := func(from, to int) {
		postgrestest.AddMany(t, s.herald.Pool, to-from+1, postgrestest.Event{},
			postgrestest.Expressions{"event_id": fmt.Sprintf("'evt-' || %d + i", from-1)})
	}
	emit(1, 10)
	s.poll(t)
	require.Eventually(t, func() bool { return count(t, s.herald, "source_start") == 1 }, patience, 5*time.Millisecond)
	emit(11, 60)
	require.Eventually(t, func() bool { return count(t, s.herald, "event_outbox WHERE produced_at IS NOT NULL") == 50 }, patience,
		5*time.Millisecond)
	require.Zero(t, count(t, s.herald, "event_outbox WHERE produced_at IS NOT NULL AND seq <= 10"))
	ids := kafkatest.Records(t, s.cluster.Address, "T", 50)
	require.Equal(t, "evt-11", headers(ids[0])["event_id"])
	require.Equal(t, "evt-60", headers(ids[49])["event_id"])
}
