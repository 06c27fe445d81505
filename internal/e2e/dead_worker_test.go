package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seenWithin is how long a worker may be dead before every command says so.
const seenWithin = 10 * time.Second

// TestDeadWorker starts the poller without a worker, then kills and stops workers while a
// delivery waits, and asks what starter says of it.
func TestDeadWorker(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RETRY_INTERVAL=10m")
	s.prepareLoad()
	s.fault("EMAIL", `{"status":503}`)
	began := time.Now()
	started := s.starter("poller", "start") // a warning, and no failure
	require.Contains(t, started, "no worker polls the task queue "+s.name+"-events")
	require.Contains(t, started, s.name+"-outbox-poller-1")
	require.Less(t, time.Since(began), 30*time.Second)

	w := s.startWorker()
	s.writeEvents("dead", 1)
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND attempt_count = 1 AND last_error IS NOT NULL`)
	var id string
	require.NoError(t, s.store.Pool.QueryRow(t.Context(), `SELECT delivery_id FROM notification WHERE channel = 'EMAIL'`).Scan(&id))
	commands := [][]string{{"poller", "status"}, {"delivery", "show", id}, {"delivery", "why", id}}
	says := func(text string, command []string) bool { return strings.Contains(s.starter(command...), text) }
	for _, command := range commands {
		require.False(t, says("no worker polls", command), command)
	}

	for _, name := range []string{"stopped", "killed"} {
		ended := time.Now()
		if name == "stopped" {
			require.NoError(t, w.stop())
		} else {
			s.startWorker().kill()
			ended = time.Now()
		}
		for _, command := range commands {
			asked := time.Now()
			for ; !says("no worker polls the task queue "+s.name+"-", command); asked = time.Now() {
				require.Less(t, asked.Sub(ended), seenWithin, "%s: %v does not say it", name, command)
			}
			t.Logf("%s: seen by %v when asked after %s", name, command, asked.Sub(ended).Round(100*time.Millisecond))
			require.Contains(t, s.starter(command...), "the last one was seen at ")
		}
	}
	require.Contains(t, s.starter("delivery", "why", id), "until a worker serves EMAIL")

	s.startWorker()
	for _, command := range commands {
		s.eventually(func() bool { return !says("no worker polls", command) }, "%v does not see the new worker", command)
	}
}
