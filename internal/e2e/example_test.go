package e2e_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/example"
	"herald/internal/postgres/report"
)

// TestExample plays the example's events. The command compares every decision,
// row and ledger line with what the rules say, and fails on any that differs;
// with a rule changed behind its back, it must.
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

// TestSeedEvents writes the events of the documents that Herald began with, and
// each reaches whom it should.
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
		s.starter("emit", "--event-id", e.ID(s.name), "--type", e.Type, "--aggregate-type", e.AggregateType, "--aggregate-id", e.AggregateID, "--payload", string(e.Payload))
	}
	for _, e := range events {
		id := e.ID(s.name)
		s.eventually(2*time.Minute, func() bool {
			return s.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status <> 'PROCESSING'`, id) == 1
		}, "%s has not ended", id)
		require.NoError(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil))
		outcome, err := example.Outcome(t.Context(), s.temporal, id)
		require.NoError(t, err)
		detail, err := report.Reader{Pool: s.store.Pool}.EventDetail(t.Context(), id, example.Everybody)
		require.NoError(t, err)
		require.Empty(t, e.Deviations(example.Observation{Report: detail, Outcome: outcome}, time.Now()))
	}
}
