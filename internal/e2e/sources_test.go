package e2e_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/relay/dialects/dialecttest"
	"herald/internal/relay/kafka/kafkatest"
)

// otherOutboxes are the tables of the order service and of the wallet hub.
var otherOutboxes = "CREATE SCHEMA orders; " + dialecttest.Orders("orders.outbox") + dialecttest.Wallets("public.wallet_outbox")

const sourcesFile = `
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  poll_interval: 200ms
  batch_size: 10
  kafka: { topic: order-events, key: "{{.aggregate_id}}" }
- name: %s
  dialect: wallet-hub
  database_url_env: BUSINESS_DATABASE_URL
  table: public.wallet_outbox
  poll_interval: 200ms
  kafka: { topic: "{{.event_type}}-out-0" }
  retries: 1
`

// business is the database of two services with outboxes that Herald polls.
type business struct {
	*db.DB
	t      *testing.T
	wallet string // name of the wallet hub's source; unique, because workflow ids contain it
}

func newBusiness(t *testing.T) (business, []string) {
	t.Helper()
	url := postgrestest.URL(t)
	store := must(db.Open(t.Context(), url, "business"))(t)
	t.Cleanup(store.Close)
	b := business{store, t, "wallet-" + uuid.NewString()[:8]}
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, sourcesFile, b.wallet), 0o600))
	b.exec(otherOutboxes)
	return b, []string{"OUTBOX_SOURCES=" + file, "BUSINESS_DATABASE_URL=" + url}
}

func (b business) exec(sql string, args ...any) {
	b.t.Helper()
	postgrestest.Exec(b.t, b.DB, sql, args...)
}

func (b business) count(sql string) int {
	b.t.Helper()
	return postgrestest.Get[int](b.t, b.DB, sql)
}

// killBeforeTheMark starts the pollers, and kills the worker after the broker has acknowledged a
// page of orders and before the worker marks the page.
func (b business) killBeforeTheMark(s *system, w *worker) {
	tx, err := b.Pool.Begin(b.t.Context())
	require.NoError(b.t, err)
	_, err = tx.Exec(b.t.Context(), "SELECT FROM orders.outbox FOR UPDATE")
	require.NoError(b.t, err)
	s.starter("poller", "start")
	const waiting = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'SENT'`
	s.eventually(func() bool { return b.count("SELECT count(*) "+waiting) > 0 }, "no order is marked")
	w.kill()
	b.count("SELECT count(pg_terminate_backend(pid)) " + waiting) // a statement continues after its client's death
	s.eventually(func() bool { return b.count("SELECT count(*) "+waiting) == 0 }, "a mark still waits")
	require.NoError(b.t, tx.Rollback(b.t.Context()))
}

// firstByKey returns the values of records by key, in order and without repeats.
func firstByKey(records []*kgo.Record) map[string][]string {
	values, seen := map[string][]string{}, map[string]bool{}
	for _, record := range records {
		if value := string(record.Value); !seen[value] {
			seen[value] = true
			values[string(record.Key)] = append(values[string(record.Key)], value)
		}
	}
	return values
}

// Rows that other services write with SQL reach their topics, byte for byte and in order for each key,
// and people are notified, although the worker is killed before it marks the sent rows and the broker
// stops. A row whose topic does not exist waits for the topic.
func TestSources(t *testing.T) {
	t.Parallel()

	services, settings := newBusiness(t)
	file := strings.TrimPrefix(settings[0], "OUTBOX_SOURCES=")
	sources, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t,
		os.WriteFile(file, []byte(strings.Replace(string(sources), "batch_size: 10\n", "batch_size: 10\n  people: true\n", 1)), 0o600))
	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", nil)
	s := newSystem(t, append(settings, "KAFKA_BROKERS="+cluster.Address)...)
	first := s.startWorker()

	const orders = 200
	services.exec(`
		INSERT INTO orders.outbox (aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT 'Order', md5((n % 30)::text)::uuid, 'OrderCreated', '{ "n":' || n || '.0, "text": "è" }', 'NEW',
		       timestamp '2026-11-22 10:00' + n * interval '1 ms'
		FROM   generate_series(1, $1::int) AS n`, orders)
	services.exec(`INSERT INTO wallet_outbox (event_type, payload, correlation_id) VALUES ('FundsAdded', 'no JSON', NULL)`)
	services.killBeforeTheMark(s, first)
	cluster.Stop()
	s.launchWorker() // a worker is not ready without the broker
	cluster.Start(t)
	s.eventually(func() bool {
		return services.count(`SELECT count(*) FROM orders.outbox WHERE status = 'SENT' AND sent_at IS NOT NULL`) == orders
	}, "not all orders are sent")

	want := map[string][]string{}
	for _, row := range postgrestest.List(t, services.DB, "SELECT aggregate_id || ' ' || payload FROM orders.outbox ORDER BY created_at") {
		order, payload, _ := strings.Cut(row, " ")
		want[order] = append(want[order], payload)
	}
	records := kafkatest.Records(t, cluster.Address, "order-events", orders+10) // when the worker was killed, the broker had a page
	require.LessOrEqual(t, len(records), orders+20, "at most two pages are in flight")
	require.Equal(t, want, firstByKey(records))
	s.awaitCount(orders,
		"SELECT count(*) FROM event_outbox o JOIN processed_event p USING (event_id) WHERE source = 'orders' AND p.status = 'SUCCESS'")

	s.awaitCount(1, `SELECT count(*) FROM source_topic WHERE source = $1 AND topic = 'FundsAdded-out-0'`, services.wallet)
	require.Contains(t, s.starter("source", "list"), "topic FundsAdded-out-0 rests")
	require.Equal(t, 1, services.count("SELECT count(*) FROM wallet_outbox WHERE NOT sent"))
	require.Contains(t, s.starter("source", "rows", services.wallet), "no row has a problem")
	kafkatest.CreateTopic(t, cluster.Address, "FundsAdded-out-0", nil)
	s.eventually(func() bool { return services.count("SELECT count(*) FROM wallet_outbox WHERE sent") == 1 }, "the wallet's row is not sent")
	require.Equal(t, map[string][]string{"": {"no JSON"}}, firstByKey(kafkatest.Records(t, cluster.Address, "FundsAdded-out-0", 1)))

	status := s.starter("poller", "status", "--source", "orders")
	require.Contains(t, status, s.name+"-orders-poller-1")
	require.NotContains(t, status, "outbox-poller")
}

// adopter follows docs/outboxes.md with two services in one database, in which Herald has a separate
// role.
type adopter struct {
	*reader
	services business
	role     string
	address  string // of the services' database, with Herald's role
}

func newAdopter(t *testing.T, broker string) *adopter {
	role := "herald_" + randomWord(8)
	address := ""
	t.Cleanup(func() { dropRoles(t, address, role) }) // after the database is gone
	services, settings := newBusiness(t)
	services.exec("ALTER TABLE wallet_outbox RENAME TO outbox")
	address = withoutPoolSize(t, strings.TrimPrefix(settings[1], "BUSINESS_DATABASE_URL="))
	parsed := must(url.Parse(address))(t)
	parsed.User = url.UserPassword(role, rolePassword)
	s := newSystem(t, "KAFKA_BROKERS="+broker, "PATH="+binaries+":"+os.Getenv("PATH"))
	return &adopter{s.reader(t.TempDir()), services, role, parsed.String()}
}

// owner runs the CREATE INDEX statements of the findings as the table's owner.
func (n *adopter) owner(findings string) {
	for _, statement := range regexp.MustCompile(`CREATE INDEX CONCURRENTLY .+\)`).FindAllString(findings, -1) {
		n.services.exec(statement)
	}
}

// blockWith returns the only block of docs/outboxes.md that contains a text.
func blockWith(t *testing.T, text string) string {
	t.Helper()
	var found []string
	for _, block := range codeBlocks(t, "docs/outboxes.md") {
		if strings.Contains(block.text, text) {
			found = append(found, block.text)
		}
	}
	require.Len(t, found, 1, text)
	return found[0]
}

// TestOutboxesDocument follows docs/outboxes.md like a newcomer. Herald's role has only the
// permissions from the document.
func TestOutboxesDocument(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", map[string]string{"max.message.bytes": "1000"})
	kafkatest.CreateTopic(t, cluster.Address, "FundsAdded-out-0", nil)
	n := newAdopter(t, cluster.Address)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file,
		[]byte(strings.Replace(blockWith(t, "database_url_env: WALLET"), "name: wallet", "name: "+n.services.wallet, 1)), 0o600))
	for statement := range strings.SplitSeq(strings.TrimSpace(blockWith(t, "CREATE ROLE herald")), ";\n") {
		n.services.exec(strings.NewReplacer("herald", n.role, "…", rolePassword).Replace(statement))
	}
	printed := n.shell(strings.NewReplacer("sources.yaml", file, "postgres://herald:…@orders-db:5432/orders?sslmode=verify-full", n.address,
		"postgres://…", n.address).Replace(blockWith(t, "export OUTBOX_SOURCES")) + "env")
	for line := range strings.Lines(printed) {
		if name, _, _ := strings.Cut(line, "="); name == "OUTBOX_SOURCES" || strings.HasSuffix(name, "S_DATABASE_URL") ||
			name == "WALLET_DATABASE_URL" {
			n.env = append(n.env, strings.TrimSpace(line))
		}
	}

	require.Contains(t, n.starter("source", "list"), "orders.outbox")
	n.fails(1, "source orders orders.outbox: there is no index on status, created_at", "source", "check")
	n.fails(1, "must be owner", "source", "migrate", "orders")
	found, _ := n.tryStarter("source", "check")
	n.owner(found)
	require.Contains(t, n.starter("source", "check"), "no mistakes")

	n.startAll()
	n.services.exec(`
		INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', 'OrderCreated', payload, 'NEW', timezone('UTC', now())
		FROM   (VALUES ('{}'), ((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 100) AS n))) AS row (payload)`)
	n.services.exec(`INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}')`)
	rows := func(want int, condition string) {
		n.eventually(func() bool { return n.services.count("SELECT count(*) FROM "+condition) == want }, "there are never %d: %s", want,
			condition)
	}
	rows(1, "orders.outbox WHERE status = 'SENT'")
	rows(1, "orders.outbox WHERE status = 'FAILED' AND error_message ~ 'MESSAGE_TOO_LARGE'")
	rows(1, "outbox WHERE sent")

	n.services.exec("UPDATE orders.outbox SET payload = '{}' WHERE status = 'FAILED'")
	n.awaitCount(1, `SELECT count(*) FROM source_row WHERE failed_at IS NOT NULL`)
	n.starter("source", "retry", "orders", "--all")
	rows(2, "orders.outbox WHERE status = 'SENT' AND error_message IS NULL")

	n.purge(blockWith(t, "starter purge --source orders"))
}

// purge follows the document's section about finished rows.
func (n *adopter) purge(block string) {
	n.services.exec("UPDATE orders.outbox SET created_at = created_at - interval '40 days', sent_at = sent_at - interval '40 days'")
	printed, err := n.tryShell(block)
	require.Error(n.t, err, "Herald's role may not delete")
	require.Contains(n.t, printed, "permission denied")
	require.Contains(n.t, printed, "next: ")
	document := must(os.ReadFile("../../docs/outboxes.md"))(n.t)
	grant := "GRANT DELETE ON orders.outbox TO "
	require.Contains(n.t, string(document), grant+"herald")
	n.services.exec(grant + n.role)
	printed = n.shell(block)
	require.Zero(n.t, n.services.count("SELECT count(*) FROM orders.outbox"), fmt.Sprint(printed))
}
