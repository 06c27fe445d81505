package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes/kafka/kafkatest"
	"herald/internal/stacktest"
)

// The clock of this order service is India's, and each type of event has a topic.
const faultySources = `
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  timezone: Asia/Kolkata
  poll_interval: 200ms
  pollers: 2
  kafka: { topic: "{{.event_type}}" }
  retries: 1
`

// faulty is an order service, and all that may be taken from under its outbox.
type faulty struct {
	*system
	services         business
	business, herald *stacktest.Link // the workers' and the operators' way to the two databases
	broker           *kafkatest.Cluster
	first, second    *worker
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	services, settings := newBusiness(t)
	toBusiness, businessURL := stacktest.LinkTo(t, strings.TrimPrefix(settings[1], "BUSINESS_DATABASE_URL="))
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte(faultySources), 0o600))
	f := &faulty{services: services, business: toBusiness, broker: kafkatest.NewCluster(t)}
	kafkatest.CreateTopic(t, f.broker.Address, "OrderCreated", nil)
	f.system = newSystem(t, "OUTBOX_SOURCES="+file, "BUSINESS_DATABASE_URL="+businessURL, "KAFKA_BROKERS="+f.broker.Address)
	f.starter("migrate", "up")
	toHerald, heraldURL := stacktest.LinkTo(t, f.servers.databaseURL)
	f.herald, f.env = toHerald, append(f.env, "DATABASE_URL="+heraldURL)
	f.first, f.second = f.startWorker(), f.startWorker()
	f.starter("poller", "start")
	return f
}

// order writes rows as their service does.
func (f *faulty) order(eventType string, rows int) {
	f.t.Helper()
	f.services.exec(`
		INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', $1, '{}', 'NEW', timezone('Asia/Kolkata', now()) FROM generate_series(1, $2::int)`, eventType, rows)
}

func (f *faulty) awaitRows(want int, condition string) {
	f.t.Helper()
	f.eventually(func() bool { return f.services.count("SELECT count(*) FROM orders.outbox WHERE "+condition) == want }, "there are never %d rows: %s", want, condition)
}

// TestSourcesUnderFaults takes a worker, the service's database, Herald's own and the
// broker from under an outbox with two pollers, in turn. Every row comes out, nothing
// fails for that, and what is sent twice has one id.
func TestSourcesUnderFaults(t *testing.T) {
	t.Parallel()

	const rows = 100
	f := newFaulty(t)
	f.order("OrderCreated", rows)
	f.eventually(func() bool {
		return f.services.count("SELECT count(*) FROM orders.outbox WHERE status = 'SENT'") > rows/10
	}, "no order is sent")
	f.first.kill()
	f.awaitRows(rows, "status = 'SENT' AND sent_at BETWEEN created_at AND timezone('Asia/Kolkata', now())")
	require.Equal(t, rows, f.count(`SELECT count(*) FROM event_outbox WHERE created_at BETWEEN now() - interval '10 minutes' AND now()`))

	f.retryWithoutTheDatabaseOfTheService()

	f.herald.Cut()
	f.order("OrderCreated", rows)
	f.eventually(func() bool { return strings.Contains(f.second.metrics(), "herald_database_up 0") }, "the worker does not notice")
	f.herald.Mend()
	f.awaitRows(2*rows+3, "status = 'SENT'")

	f.broker.Stop()
	f.order("OrderCreated", rows)
	f.awaitCount(rows, `SELECT count(*) FROM event_outbox WHERE acknowledged_at IS NULL AND sink_attempts = 0 AND status = 'PROCESSED' AND created_at < now() - interval '20 seconds'`)
	f.eventually(func() bool { return oldest.MatchString(f.second.metrics()) }, "the oldest row is not 20 seconds old, or hours")
	id := f.crashBeforeTheMark()
	f.awaitRows(3*rows+3, "status = 'SENT' AND error_message IS NULL")

	sent := kafkatest.EventIDs(t, f.broker.Address, "OrderCreated", 3*rows)
	require.Len(t, sent, 3*rows)
	require.Equal(t, 2, sent[id], "the broker had it when the worker was killed")
	f.awaitCount(3*rows+3, `SELECT count(*) FROM event_outbox WHERE status = 'PROCESSED' AND acknowledged_at IS NOT NULL`)
}

// retryWithoutTheDatabaseOfTheService lets three orders fail, since their topic is not
// there, and retries them: one while its table is out of reach.
func (f *faulty) retryWithoutTheDatabaseOfTheService() {
	f.t.Helper()
	f.order("OrderLost", 3)
	f.awaitRows(3, "status = 'FAILED' AND error_message ~ 'OrderLost'")
	f.awaitCount(3, `SELECT count(*) FROM event_outbox JOIN processed_event p USING (event_id) WHERE event_outbox.status = 'FAILED' AND p.status = 'FAILED'`)
	kafkatest.CreateTopic(f.t, f.broker.Address, "OrderLost", nil)
	var id string
	require.NoError(f.t, f.services.Pool.QueryRow(f.t.Context(), "SELECT min(id::text) FROM orders.outbox WHERE status = 'FAILED'").Scan(&id))

	f.business.Cut()
	require.Contains(f.t, f.starter("event", "retry", id), "its row stays failed in the table of orders until it is sent")
	again, _ := f.tryStarter("event", "retry", id)
	require.Regexp(f.t, "is pending|is under way", again)
	f.awaitCount(1, `SELECT count(*) FROM event_outbox WHERE event_id = $1 AND status = 'PROCESSED' AND acknowledged_at IS NULL`, id)
	f.awaitRows(3, "status = 'FAILED'")
	f.business.Mend()

	f.awaitRows(1, fmt.Sprintf("status = 'SENT' AND id = '%s'", id))
	require.Contains(f.t, f.starter("event", "retry", "--all-failed", "--source", "orders"), "2 events match")
	f.awaitRows(3, "status = 'SENT' AND event_type = 'OrderLost'")
}

// oldest is the age of a row that is older than 20 seconds, and not 5½ hours off.
var oldest = regexp.MustCompile(`(?m)^herald_outbox_oldest_pending_seconds\{source="orders"\} ([2-9]\d|\d{3})(\.\d+)?$`)

// crashBeforeTheMark lets the broker come back while an event cannot be marked, and kills
// the worker when the broker has the event's record. It returns the event's id.
func (f *faulty) crashBeforeTheMark() (id string) {
	f.t.Helper()
	tx, err := f.store.Pool.Begin(f.t.Context())
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, tx.Rollback(f.t.Context())) }()
	require.NoError(f.t, tx.QueryRow(f.t.Context(), "SELECT event_id FROM event_outbox WHERE acknowledged_at IS NULL LIMIT 1 FOR UPDATE").Scan(&id))
	f.broker.Start(f.t)
	const waiting = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'acknowledged_at = now'`
	f.awaitCount(1, "SELECT count(*) "+waiting)
	f.second.kill()
	f.awaitCount(1, "SELECT count(pg_terminate_backend(pid)) "+waiting) // what its statement waits for would come otherwise
	f.awaitCount(0, "SELECT count(*) "+waiting)
	f.startWorker()
	return id
}
