package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
)

// TestPollerPaused pauses and resumes the poller, with and without a worker, and then
// replays the recorded workflows.
func TestPollerPaused(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "HERALD_ACTOR=e2e@host")
	s.prepareLoad()
	s.fails(1, "no poller runs", "poller", "pause")
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("before", 1)
	s.waitForLoad(1)

	require.Contains(t, s.starter("poller", "pause"), "paused  "+s.name+"-outbox-poller-1")
	s.starter("poller", "pause") // changes nothing
	require.Regexp(t, "e2e@host +poller pause +"+s.name+"-outbox-poller-1", s.starter("audit", "--target", s.name+"-outbox-poller-1"))
	require.Equal(t, "e2e@host", s.signalledBy(s.name+"-outbox-poller-1"))
	s.writeEvents("meanwhile", 2)
	require.Equal(t, "PAUSED", s.pollerStatus())
	require.Contains(t, s.starter("status"), "PAUSED")
	require.Contains(t, s.starter("poller", "start"), "`starter poller resume` lets it go on")

	require.NoError(t, w.stop()) // a pause outlasts the workers
	w = s.startWorker()
	require.Equal(t, "PAUSED", s.pollerStatus())
	require.Equal(t, 2, s.count(`SELECT count(*) FROM event_outbox WHERE status = 'PENDING' AND attempt_count = 0`))
	s.exec(`CREATE TABLE resumed AS SELECT clock_timestamp() AS at`)
	s.starter("poller", "resume")
	s.starter("poller", "resume") // changes nothing
	require.Equal(t, "RUNNING", s.pollerStatus())
	s.waitForLoad(3)
	require.Equal(t, 2, s.count(`SELECT count(*) FROM event_outbox, resumed WHERE published_at > at`))

	s.replays("PollOutbox", s.name+"-outbox-poller-1")
	s.replays("NotifyEvent", s.eventID("meanwhile", 0))
	s.replays("DeliverNotification", s.eventID("meanwhile", 0)+"-customer1-EMAIL")
	s.fails(1, "no workflow "+s.name+"-nobody is known to Temporal", "replay", s.name+"-nobody")

	s.starter("poller", "pause")
	require.Contains(t, s.starter("poller", "stop"), "stopped  "+s.name+"-outbox-poller-1") // a paused one, too
	require.Equal(t, "CANCELED", s.pollerStatus())
	require.NoError(t, w.stop())

	s.starter("poller", "start")
	require.NoError(t, s.temporal.CancelWorkflow(t.Context(), s.name+"-outbox-poller-1", "")) // as stop does, which then waits for a worker
	require.Equal(t, "STOPPING", s.pollerStatus())
	s.starter("poller", "start")
	require.Equal(t, "RUNNING", s.pollerStatus())
	w = s.startWorker()
	s.writeEvents("anew", 1)
	s.waitForLoad(4)
	require.Equal(t, "RUNNING", s.pollerStatus())
	require.NoError(t, w.stop())
}

// signalledBy returns the identity of the last signal in a workflow's history.
func (s *system) signalledBy(id string) (identity string) {
	s.t.Helper()
	for events := s.temporal.GetWorkflowHistory(s.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(s.t, err)
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			identity = signal.GetIdentity()
		}
	}
	return identity
}

func (s *system) pollerStatus() string {
	s.t.Helper()
	var state struct {
		Pollers []struct {
			Status string `json:"status"`
		} `json:"pollers"`
	}
	out := s.starter("poller", "status", "-o", "json")
	require.NoError(s.t, json.NewDecoder(strings.NewReader(out[strings.Index(out, "{"):])).Decode(&state)) // behind a warning
	require.Len(s.t, state.Pollers, 1)
	return state.Pollers[0].Status
}

// replays replays a workflow's latest run, by its id and by its run id.
func (s *system) replays(kind, id string) {
	s.t.Helper()
	var view struct {
		RunID string `json:"run_id"`
		Type  string `json:"workflow_type"`
		Clean bool   `json:"clean"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.starter("replay", id, "-o", "json")), &view))
	require.True(s.t, view.Clean)
	require.Equal(s.t, kind, view.Type)
	require.Contains(s.t, s.starter("replay", id, "--run-id", view.RunID), "replays cleanly: "+kind)
}
