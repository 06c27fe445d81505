package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// TestEventIDTaken writes events whose ids other workflows have: a poller, a delivery that
// was made, and an event of another installation in the namespace. Each fails with that
// reason, and the next event goes on.
func TestEventIDTaken(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("mine", 1)
	s.waitForLoad(1)
	theirs := s.name + "-theirs"
	options := client.StartWorkflowOptions{ID: theirs, TaskQueue: s.name + "-another-events"}
	other, err := s.temporal.ExecuteWorkflow(t.Context(), options, "NotifyEvent", map[string]any{"EventID": theirs})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.temporal.TerminateWorkflow(context.Background(), theirs, other.GetRunID(), "end of the test")
	})

	options.ID = s.name + "-another-outbox-poller-1"
	poller, err := s.temporal.ExecuteWorkflow(t.Context(), options, "PollOutbox", map[string]any{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.temporal.TerminateWorkflow(context.Background(), options.ID, poller.GetRunID(), "end of the test")
	})
	s.eventually(func() bool { // the newest of them are listed
		said := s.starter("status")
		require.NotContains(t, said, " "+s.name+"-events,")
		return strings.Contains(said, options.TaskQueue)
	}, "status does not warn of the other installation")

	taken := map[string]string{
		s.name + "-outbox-poller-1":               "PollOutbox of task queue " + s.name + "-events",
		s.eventID("mine", 0) + "-customer1-EMAIL": "DeliverNotification of task queue " + s.name + "-email",
		theirs: "NotifyEvent of task queue " + s.name + "-another-events",
	}
	for id := range taken {
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, 'LOAD', 'CUSTOMER', '1', '{"number": 1}')`, id)
	}
	s.writeEvents("neighbour", 1)
	s.waitForLoad(2)
	s.awaitCount(len(taken), `SELECT count(*) FROM event_outbox WHERE status = 'FAILED'`)
	for id, who := range taken {
		require.Equal(t, 1, s.count(`SELECT count(*) FROM event_outbox WHERE event_id = $1 AND error_message = $2`, id, "the id is taken by the workflow "+who), id)
		require.Contains(t, s.starter("event", "show", id), who)
	}
	require.NoError(t, w.stop())
}
