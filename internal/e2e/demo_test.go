package e2e_test

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/outboxes/kafka/kafkatest"
	"herald/tools/demo"
	"herald/tools/example"
	"herald/tools/sandbox"
)

// The demo refuses the servers of others: it would send their pending events to the sandbox.
func TestDemoRefusesOtherServers(t *testing.T) {
	t.Parallel()

	for setting, value := range map[string]string{
		"DATABASE_URL": "postgres://herald@db.example.com/herald", "RABBITMQ_URL": "amqps://broker.example.com/", "TEMPORAL_ADDRESS": "temporal.example.com:7233",
	} {
		dev := t.TempDir()
		demo := exec.CommandContext(t.Context(), "../../tools/demo.sh")
		demo.Env = []string{"PATH=/usr/bin:/bin", "HERALD_DEV=" + dev, setting + "=" + value}

		said, err := demo.CombinedOutput()

		require.Error(t, err)
		require.Contains(t, string(said), setting+" names a server of yours")
		require.Contains(t, string(said), "(unset "+setting+"; make demo)")
		require.NotContains(t, string(said), "example.com", "an address may hold a password")
		require.NoDirExists(t, dev+"/postgres", "nothing was started")
	}
}

// The demo runs twice, with a sandbox that sends receipts to a gateway. The second run has the
// same result as the first, although the first run suppressed an address.
func TestDemoTellsWhoHasWhat(t *testing.T) {
	t.Parallel()

	s, gateway := newSystemWithReceipts(t, `{"delay":"50ms","twice":true,"shuffled":true,"rate":0.3}`)
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.startGateway("GATEWAY_HTTP_ADDR=" + gateway)
	s.starter("poller", "start")
	for range 2 {
		_, printed, found := strings.Cut(s.program("demo", "--sandbox-url", s.sandbox.URL, "-o", "json"), "\n{\n") // notes precede the JSON
		require.True(t, found)
		var result demo.Result
		require.NoError(t, json.Unmarshal([]byte("{"+printed), &result))
		require.Empty(t, result.Deviations)
		has := map[string]demo.Possession{}
		decided := map[string]notification.Decision{}
		for _, r := range result.Results {
			key := r.Event + " " + string(r.Channel)
			has[key], decided[key] = r.Has, r.Decision
		}
		require.Equal(t, demo.Has, has["confirmed EMAIL"], "a receipt says so")
		require.Equal(t, demo.HasNot, has["bounced EMAIL"])
		require.Equal(t, notification.DecisionSuppressed, decided["bounced-before EMAIL"])
		require.Equal(t, demo.HasRead, has["offered-read PUSH"])
		require.NotContains(t, has, "offered-read SMS", "it was read")
		require.Equal(t, demo.HasNot, has["offered-escalated SMS"])
		require.Equal(t, demo.Has, has["offered-escalated EMAIL"])
	}
}

// newSystemWithReceipts returns an installation whose sandbox sends receipts. The test must start
// a gateway at the returned address.
func newSystemWithReceipts(t *testing.T, receipts string) (s *system, gateway string) {
	t.Helper()
	s = newSystem(t)
	free := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	gateway = free.Addr().String()
	require.NoError(t, free.Close())
	providers := must(sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true, Gateway: "http://" + gateway, Receipts: receipts}))(t)
	s.sandbox = httptest.NewServer(providers)
	t.Cleanup(func() {
		s.sandbox.CloseClientConnections()
		s.sandbox.Close()
		_ = providers.Close()
	})
	s.env = append(s.environment(), "PUBLIC_URL=http://"+gateway, "SENDGRID_WEBHOOK_PUBLIC_KEY="+providers.PublicKey())
	return s, gateway
}

// The demo compares every decision, row and ledger line with the rules. It fails after a rule has
// changed.
func TestExample(t *testing.T) {
	t.Parallel()

	s := newSystemOfServices(t)
	s.makeOutboxes()
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.starter("poller", "start", "--source", "herald")
	out, err := s.tryProgram("demo", "--sandbox-url", s.sandbox.URL)
	require.Error(t, err)
	require.Contains(t, out, "no poller of the outbox orders is running: run `starter poller start`")
	s.starter("poller", "start")

	printed := s.program("demo", "--sandbox-url", s.sandbox.URL)
	t.Log(printed)
	require.Regexp(t, `orders\.outbox +\S+ +OrderCreated +SENT`, printed)
	require.Less(t, s.count(`SELECT count(DISTINCT digest_id) FROM notification`), s.count(`SELECT count(*) FROM notification WHERE digest_id IS NOT NULL`),
		"no review shared a mail with another")

	s.exec(`DELETE FROM event_type_channel_routing WHERE event_type = 'SYSTEM_ALERT' AND channel_type = 'EMAIL'`)
	out, err = s.tryProgram("demo", "--sandbox-url", s.sandbox.URL)
	require.Error(t, err)
	require.Contains(t, out, "ADMIN/1")
}

// TestOutboxesOfTheDemo follows docs/outboxes.md after the demo: the reader writes an order,
// Herald sends it to its topic and notifies its customer.
func TestOutboxesOfTheDemo(t *testing.T) {
	t.Parallel()

	r := newSystemOfServices(t).reader(t.TempDir())
	r.makeOutboxes()
	r.starter("seed", "--slack-url", r.sandbox.URL)
	r.startAll()
	var order, look string
	for _, block := range runnable(t, "docs/outboxes.md") {
		switch {
		case strings.Contains(block, "orders.purchase"):
			order = block
		case strings.Contains(block, "kcat"):
			look = block
		}
	}

	r.exec(order)
	r.awaitCount(1, "SELECT count(*) FROM orders.outbox WHERE status = 'SENT'")
	r.awaitCount(3, "SELECT count(*) FROM notification WHERE user_id = '43' AND status = 'SENT'")

	printed := r.shell(look)
	require.Contains(t, printed, "event_type=OrderCreated")
	require.Contains(t, printed, `{"customerId": 43, "items": ["Grappa"], "total": 12.50}`)
	require.Contains(t, printed, "order-events by {{.aggregate_id}}")
	require.Equal(t, 1, strings.Count(printed, "PROCESSED"), printed)
}

// newSystemOfServices returns an installation with the outboxes of the example's two services
// and a separate broker with their topics. All tests share one Temporal, and ids of the wallet hub
// begin with its name, so the wallet hub has a different name in each test.
func newSystemOfServices(t *testing.T) *system {
	t.Helper()
	text := must(os.ReadFile("../../tools/example/sources.yaml"))(t)
	require.Contains(t, string(text), "name: wallet\n")
	file := filepath.Join(t.TempDir(), "sources.yaml")
	renamed := strings.Replace(string(text), "name: wallet\n", "name: wallet-"+uuid.NewString()[:8]+"\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(renamed), 0o600))
	cluster := kafkatest.NewCluster(t)
	for _, topic := range example.Topics() {
		kafkatest.CreateTopic(t, cluster.Address, topic, nil)
	}
	return newSystem(t, "OUTBOX_SOURCES="+file, "KAFKA_BROKERS="+cluster.Address)
}

// makeOutboxes creates the tables of the two services.
func (s *system) makeOutboxes() {
	s.t.Helper()
	tables := must(os.ReadFile("../../tools/example/outboxes.sql"))(s.t)
	s.exec(string(tables))
	s.exec(string(tables)) // a second time, like the next `make demo`
	checked := s.starter("source", "check")
	require.Regexp(s.t, `no mistakes in source orders, source wallet-\w+, topics`, checked)
	require.Equal(s.t, strings.Count(checked, "only one broker"), strings.Count(checked, "next: "), "the broker of the test is alone: %s", checked)
}

// The events of Herald's first documents reach the people that the documents name.
func TestSeedEvents(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startAll()
	source := must(os.ReadFile("../../tools/example/testdata/seed_events.json"))(t)
	events := must(example.ReadEvents(source))(t)
	for _, e := range events {
		s.emit(e.ID(s.name), e.Type, e.AggregateType+"/"+e.AggregateID, string(e.Payload))
	}
	for _, e := range events {
		id := e.ID(s.name)
		s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND status <> 'PROCESSING'`, id)
		require.Empty(t, demo.Deviations(e, must(demo.Observe(t.Context(), explain.Explainer{Store: s.store, Temporal: s.temporal}, id))(t), time.Now()))
	}
}
