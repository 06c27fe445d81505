package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/outboxes/kafka/kafkatest"
	"herald/tools/demo"
	"herald/tools/example"
)

// The demo compares every decision, row and ledger line with the rules. It fails after a rule has
// changed.
func TestExample(t *testing.T) {
	t.Parallel()

	s := newSystemOfServices(t)
	s.starter("migrate", "up")
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

	r := &reader{system: newSystemOfServices(t), dir: t.TempDir()}
	require.NoError(t, os.Symlink(binaries, filepath.Join(r.dir, "bin")))
	r.starter("migrate", "up")
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
	require.NotContains(s.t, s.starter("source", "check"), "next: ")
}

// The events of Herald's first documents reach the people that the documents name.
func TestSeedEvents(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("migrate", "up")
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
