package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/kafka/kafkatest"
	"herald/internal/notification"
	"herald/internal/source/sourcetest"
)

const neither = "status NOT IN ('SENT', 'FAILED')"

// Rows are sent in the order of their keys, once, byte for byte, and leave nothing in
// Herald's own table.
func TestRelay(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	r.many(t, 1, 100, 7, "orders-out")
	p := r.pollBatches(t)
	r.awaitRows(t, 100, "status = 'SENT' AND sent_at IS NOT NULL")
	r.order(t, 101, 101%7, "orders-out", "{ \"no\":  1.0 }")
	r.awaitRows(t, 101, "status = 'SENT'")

	require.Equal(t, 101, p.stop(t).Sent)
	require.Zero(t, r.requireOrder(t, "orders-out", 1, 101, 7))
	records := kafkatest.Records(t, r.cluster.Address, "orders-out", 101)
	require.Equal(t, "{ \"no\":  1.0 }", string(records[100].Value))
	require.Equal(t, map[string]string{
		"event_id": orderID(101), "event_type": "orders-out", "aggregate_type": "Order", "aggregate_id": aggregate(101 % 7),
		"source": "orders", "content-type": "application/json",
	}, headers(records[100]))
	require.Zero(t, events(t, r.herald, "true"))
}

// Rows of a wallet hub have no key. They are marked, whatever became of their neighbours.
func TestRelayOfWallets(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Name, config.Dialect, config.Retries, config.Kafka = "wallet", notification.WalletHub, notification.RetryForever, &notification.KafkaRoute{Topic: "{{.event_type}}-out-0"}
	r := newRelaying(t, sourcetest.Wallets("outbox"), config, "FundsAdded-out-0")
	exec(t, r.business, `INSERT INTO outbox (event_type, payload) SELECT CASE n WHEN 3 THEN 'Unknown' WHEN 5 THEN 'No topic' ELSE 'FundsAdded' END, 'n' || n FROM generate_series(1, 50) AS n`)
	r.pollBatches(t)
	r.awaitRows(t, 48, "sent")
	await(t, r.herald, 1, "event_id = 'wallet-3' AND source = 'wallet' AND status = 'PENDING' AND sink_attempts > 2 AND error_message ~ 'Unknown-out-0'")
	await(t, r.herald, 1, "event_id = 'wallet-5' AND status = 'FAILED' AND sink_attempts = 1")

	kafkatest.CreateTopic(t, r.cluster.Address, "Unknown-out-0", nil)
	r.awaitRows(t, 49, "sent")
	await(t, r.herald, 1, "event_id = 'wallet-3' AND status = 'PROCESSED' AND acknowledged_at IS NOT NULL")
	records := kafkatest.Records(t, r.cluster.Address, "Unknown-out-0", 1)
	require.Equal(t, "n3", string(records[0].Value))
	require.Equal(t, "wallet-3", headers(records[0])["event_id"])
}

// A refused row holds those of its key, and no others, until it has failed. Then they go,
// in their order. What its service sets back, or an operator, goes once more.
func TestRelayHoldsTheKeyOfARefusedRow(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.RetryInterval = 2 * time.Second
	r := newRelaying(t, sourcetest.Orders("outbox"), config, "orders-out")
	r.order(t, 1, 1, "orders-out", "{}")
	r.order(t, 2, 1, "missing", "{}")
	r.order(t, 3, 1, "orders-out", "{}")
	r.many(t, 10, 69, 30, "orders-out") // two of them are of order 1
	r.pollBatches(t)
	held := fmt.Sprintf("aggregate_id = '%s' AND id <> '%s' AND status = 'NEW'", aggregate(1), orderID(1))
	r.awaitRows(t, 1+60-2, "status = 'SENT'")
	require.Equal(t, 4, r.rows(t, held))
	await(t, r.herald, 1, "event_id = '"+orderID(2)+"' AND status = 'PENDING' AND sink_attempts = 1 AND lease_until > now()")

	r.awaitRows(t, 1, "status = 'FAILED' AND error_message ~ 'missing'")
	await(t, r.herald, 1, "event_id = '"+orderID(2)+"' AND status = 'FAILED' AND sink_attempts = 3")
	r.awaitRows(t, 0, neither)
	ids, repeats := r.byKey(t, "orders-out", 62)
	require.Zero(t, repeats)
	require.Equal(t, []string{orderID(1), orderID(3), orderID(31), orderID(61)}, ids[aggregate(1)])

	kafkatest.CreateTopic(t, r.cluster.Address, "missing", nil)
	exec(t, r.business, "UPDATE outbox SET status = 'NEW' WHERE status = 'FAILED'")
	r.awaitRows(t, 63, "status = 'SENT' AND error_message IS NULL")
	await(t, r.herald, 1, "status = 'PROCESSED' AND acknowledged_at IS NOT NULL")
	require.Len(t, kafkatest.Records(t, r.cluster.Address, "missing", 1), 1)
}

// A record that no attempt can make smaller fails at once, and the rest of its key goes on.
func TestRelayOfARecordThatIsTooLarge(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Retries = notification.RetryForever
	r := newRelaying(t, sourcetest.Orders("outbox"), config, "orders-out")
	r.many(t, 1, 60, 2, "orders-out")
	exec(t, r.business, "UPDATE outbox SET payload = $1 WHERE id = $2", noise(9000), orderID(31))
	r.pollBatches(t)
	r.awaitRows(t, 59, "status = 'SENT'")
	r.awaitRows(t, 1, "status = 'FAILED' AND error_message ~ 'MESSAGE_TOO_LARGE' AND id = '"+orderID(31)+"'")
	await(t, r.herald, 1, "status = 'FAILED' AND sink_attempts = 1")
	ids, repeats := r.byKey(t, "orders-out", 59)
	require.Zero(t, repeats)
	require.IsIncreasing(t, ids[aggregate(0)])
	require.IsIncreasing(t, ids[aggregate(1)])
	require.NotContains(t, ids[aggregate(1)], orderID(31))

	exec(t, r.business, "UPDATE outbox SET payload = '{}' WHERE id = $1", orderID(31))
	retried, err := r.herald.RetryEvent(t.Context(), orderID(31)) // as `starter event retry` does
	require.NoError(t, err)
	require.True(t, retried)
	require.NoError(t, r.table.Reopen(t.Context(), []string{orderID(31)}))
	r.awaitRows(t, 60, "status = 'SENT'")
}

// Where a whole look is refused, the topic is at fault: nothing is counted, and nothing
// fails, until it is there.
func TestRelayWithoutATopic(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Retries = 0
	r := newRelaying(t, sourcetest.Orders("outbox"), config)
	r.many(t, 1, 50, 5, "orders-out")
	m := newMeters()
	relay := r.relay(t)
	topics := &countedTopics{RelayTopics: relay.Topics}
	relay.Topics = topics
	p := pollMeasured(t, m.handler(), nil, nil, sourceOf(relay))
	require.Eventually(t, func() bool { return topics.calls.Load() >= 6 }, patience, time.Millisecond) // two looks
	require.Zero(t, events(t, r.herald, "true"))
	require.Positive(t, m.counted()["herald_sink_refusals"])
	require.Equal(t, 50, r.rows(t, "status = 'NEW'"))

	kafkatest.CreateTopic(t, r.cluster.Address, "orders-out", nil)
	r.awaitRows(t, 50, "status = 'SENT'")
	p.stop(t)
	require.Zero(t, r.requireOrder(t, "orders-out", 1, 50, 5))
	require.Len(t, m.times["herald_commit_to_acknowledged"], 50)
}

// One row alone tells nothing: it is counted, and fails.
func TestRelayOfOneRowWithoutATopic(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice)
	r.order(t, 1, 1, "missing", "{}")
	m := newMeters()
	p := pollMeasured(t, m.handler(), nil, nil, sourceOf(r.relay(t)))
	r.awaitRows(t, 1, "status = 'FAILED'")
	await(t, r.herald, 1, "status = 'FAILED' AND sink_attempts = 3")
	require.Equal(t, 1, p.stop(t).Failed)
	require.Equal(t, map[string]int64{"herald_sink_refusals": 3}, m.counted())
}

// A broker that is away is waited for: nothing fails, nothing is lost, and order is kept.
func TestRelayWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Retries = 0
	r := newRelaying(t, sourcetest.Orders("outbox"), config, "orders-out")
	r.many(t, 1, 300, 9, "orders-out")
	r.pollBatches(t)
	require.Eventually(t, func() bool { return r.rows(t, "status = 'SENT'") > 20 }, patience, time.Millisecond)
	r.cluster.Stop()
	r.many(t, 301, 400, 9, "orders-out")
	r.cluster.Start(t)
	r.awaitRows(t, 400, "status = 'SENT'")
	r.requireOrder(t, "orders-out", 1, 400, 9)
	require.Zero(t, events(t, r.herald, "true"))
}

// Each key has one poller at a time, of whichever process: nothing is sent twice, and what
// comes in the order of its key stays so.
func TestRelayWithTwoPollers(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Pollers = 2
	r := newRelaying(t, sourcetest.Orders("outbox"), config, "orders-out")
	relay := r.relay(t)
	first, second, other := pollRelay(t, relay), pollRelay(t, relay), r.pollBatches(t)
	for from := 1; from < 600; from += 100 {
		r.many(t, from, from+99, 11, "orders-out")
	}
	r.awaitRows(t, 600, "status = 'SENT'")
	a, b, c := first.stop(t).Sent, second.stop(t).Sent, other.stop(t).Sent
	require.Equal(t, 600, a+b+c)
	require.NotContains(t, []int{a, b, c}, 600, "they share the keys")
	require.Zero(t, r.requireOrder(t, "orders-out", 1, 600, 11))
}

// A poller that still runs although Temporal gave it up keeps its keys: the next attempt
// sends nothing beside it, and takes over once it ends.
func TestRelayIsFenced(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	_, slots, release, err := r.table.Own(t.Context(), notification.Slots)
	require.NoError(t, err)
	require.Len(t, slots, notification.Slots)
	r.order(t, 1, 1, "orders-out", "{}")
	relay := r.relay(t)
	table := &countedTable{RelayTable: relay.Table}
	relay.Table = table
	p := pollRelay(t, relay)
	require.Eventually(t, func() bool { return table.missed.Load() > 0 }, patience, time.Millisecond)
	require.Equal(t, 1, r.rows(t, "status = 'NEW'"))
	release()
	r.awaitRows(t, 1, "status = 'SENT'")
	p.stop(t)
}

// What one poller fails, another that has read it before does not begin again.
func TestRelayBeginsAgainWhatIsItsOwn(t *testing.T) {
	t.Parallel()

	config := refusedTwice
	config.Pollers = 2
	r := newRelaying(t, sourcetest.Orders("outbox"), config, "orders-out")
	_, others, release, err := r.table.Own(t.Context(), notification.Slots/2)
	require.NoError(t, err)
	defer release()
	const rows = 100
	r.many(t, 1, rows, rows, "orders-out")
	exec(t, r.herald, `
		INSERT INTO event_outbox (event_id, source, event_type, status, error_message, attempt_count, sink_attempts)
		SELECT '00000000-0000-4000-8000-' || lpad(n::text, 12, '0'), 'orders', 'orders-out', 'FAILED', 'refused', 1, 1 FROM generate_series(1, $1::int) AS n`, rows)
	own := 0
	for n := range rows {
		if !others[notification.Slot(notification.Record{Key: []byte(aggregate(n))}, "")] {
			own++
		}
	}
	p := r.pollBatches(t)
	r.awaitRows(t, own, "status = 'SENT'")
	p.stop(t)
	require.Equal(t, rows-own, events(t, r.herald, "status = 'FAILED'"))
}

// Once its connection is lost, so are its keys: it sends nothing more with them.
func TestRelayLosesItsKeysWithItsConnection(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	owned, _, release, err := r.table.Own(t.Context(), 1)
	require.NoError(t, err)
	defer release()
	exec(t, r.business, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	select {
	case <-owned.Done():
	case <-time.After(patience):
		require.Fail(t, "the poller does not notice")
	}
}

// What its topic has is marked before more than one batch behind it is sent, however long
// that takes.
func TestRelayWhoseMarksFail(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	relay := r.relay(t)
	table := &brokenTable{RelayTable: relay.Table, broken: true}
	relay.Table = table
	r.many(t, 1, 70, 3, "orders-out")
	first := pollRelay(t, relay)
	require.Eventually(t, func() bool { return table.tried() >= 3 }, patience, time.Millisecond)
	require.Len(t, kafkatest.Records(t, r.cluster.Address, "orders-out", 40), 40, "two batches")
	first.stop(t)

	table.mend()
	pollRelay(t, relay)
	r.awaitRows(t, 70, "status = 'SENT'")
	require.Zero(t, r.requireOrder(t, "orders-out", 1, 70, 3), "nothing is sent again")
}

// A process that ends between acknowledgement and mark costs a repeat of two batches at
// most, in their order.
func TestRelayAfterACrash(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	relay := r.relay(t)
	table := &brokenTable{RelayTable: relay.Table, broken: true}
	relay.Table = table
	r.many(t, 1, 70, 3, "orders-out")
	p := pollRelay(t, relay)
	require.Eventually(t, func() bool { return table.tried() > 0 }, patience, time.Millisecond)
	p.stop(t)

	r.pollBatches(t) // another process knows nothing of what this one has sent
	r.awaitRows(t, 70, "status = 'SENT'")
	require.Contains(t, []int{20, 40}, r.requireOrder(t, "orders-out", 1, 70, 3), "the poller may have ended before the second batch")
}

// What a source sent by workflows before, and did not end, is ended: an event that was not
// started is sent, one whose workflow runs is left to it, and holds its key.
func TestRelayAfterAnotherMode(t *testing.T) {
	t.Parallel()

	r := newRelaying(t, sourcetest.Orders("outbox"), refusedTwice, "orders-out")
	r.many(t, 1, 6, 6, "orders-out")
	r.order(t, 12, 2, "orders-out", "{}") // behind the one whose workflow runs
	known := func(n int, columns, values string) {
		exec(t, r.herald, fmt.Sprintf("INSERT INTO event_outbox (event_id, source, event_type, created_at, status%s) VALUES ('%s', 'orders', 'orders-out', '2026-11-21 10:00:00.00%dZ', %s)", columns, orderID(n), n, values))
	}
	known(1, "", "'PENDING'")
	known(2, ", published_at", "'PROCESSED', now()")
	exec(t, r.herald, "INSERT INTO processed_event (event_id) VALUES ($1)", orderID(2))
	known(3, ", published_at, acknowledged_at", "'PROCESSED', now(), now()")
	known(4, ", lease_owner, lease_until", "'PENDING', 'a poller', now() + interval '1 second'")
	r.pollBatches(t)
	r.awaitRows(t, 5, "status = 'SENT'")
	await(t, r.herald, 3, "acknowledged_at IS NOT NULL AND status = 'PROCESSED'")
	ids, _ := r.byKey(t, "orders-out", 4)
	require.Empty(t, ids[aggregate(2)])
	require.Empty(t, ids[aggregate(3)], "it was sent before")

	exec(t, r.herald, "UPDATE event_outbox SET acknowledged_at = now() WHERE event_id = $1", orderID(2)) // its workflow has sent it
	r.awaitRows(t, 7, "status = 'SENT'")
	ids, _ = r.byKey(t, "orders-out", 5)
	require.Equal(t, []string{orderID(12)}, ids[aggregate(2)])
}
