package e2e_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/demo"
	"herald/internal/example"
	"herald/internal/explain"
)

// TestExample runs the demo, which compares every decision, row and ledger line with what
// the rules say. It must fail once a rule is changed.
func TestExample(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.starter("poller", "start")

	t.Log(s.starter("demo", "--sandbox-url", s.sandbox.URL))
	require.Less(t, s.count(`SELECT count(DISTINCT digest_id) FROM notification`), s.count(`SELECT count(*) FROM notification WHERE digest_id IS NOT NULL`),
		"no review shared a mail with another")

	s.exec(`DELETE FROM event_type_channel_routing WHERE event_type = 'SYSTEM_ALERT' AND channel_type = 'EMAIL'`)
	out, err := s.tryStarter("demo", "--sandbox-url", s.sandbox.URL)
	require.Error(t, err)
	require.Contains(t, out, "ADMIN/1")
}

// TestSeedEvents writes the events of Herald's first documents. Each reaches the people
// that they name.
func TestSeedEvents(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.starter("poller", "start")
	source, err := os.ReadFile("../example/testdata/seed_events.json")
	require.NoError(t, err)
	events, err := example.ReadEvents(source)
	require.NoError(t, err)
	for _, e := range events {
		s.emit(e.ID(s.name), e.Type, e.AggregateType+"/"+e.AggregateID, string(e.Payload))
	}
	for _, e := range events {
		id := e.ID(s.name)
		s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND status <> 'PROCESSING'`, id)
		seen, err := demo.Observe(t.Context(), explain.Explainer{Store: s.store, Temporal: s.temporal}, id)
		require.NoError(t, err)
		require.Empty(t, demo.Deviations(e, seen, time.Now()))
	}
}
