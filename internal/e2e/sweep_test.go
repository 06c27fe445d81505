package e2e_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// Some rows have no workflow, as after a failover of Temporal's store, and one event was
// terminated. The sweep starts the lost workflows again, closes the terminated event, and does
// not touch running workflows.
func TestSweep(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=100")
	s.prepareLoad()
	w := s.startAll(loadWorker...)
	s.scheduled()
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour'`)
	s.writeEvents("waiting", 1)
	s.writeEvents("terminated", 1)
	s.awaitCount(2*loadChannels, `SELECT count(*) FROM notification`)
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'IMMEDIATE', delay = DEFAULT`)
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), s.eventID("terminated", 0), "", "an operator's word"))
	s.lostDelivery(s.eventID("terminated", 0), "2")
	s.lostEvent("lost")
	s.lostEvent("ended")
	s.exec(`UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE' WHERE event_id = $1`, s.eventID("ended", 0))
	s.lostDelivery(s.eventID("ended", 0), "1")
	s.exec(`UPDATE processed_event SET created_at = now() - interval '16 minutes'`)
	s.exec(`UPDATE notification SET created_at = now() - interval '16 minutes'`)
	require.Regexp(t, `incomplete events +1`, s.starter("status"))

	found := s.sweep()

	require.Equal(t, 2, found.StartedAgain, "the event that was lost, and the delivery")
	require.GreaterOrEqual(t, found.Closed, 2, "the event that was terminated, and its delivery; deliveries that began end by themselves")
	require.Zero(t, found.Failed)
	s.awaitDeliveries(s.eventID("lost", 0), "SENT", loadChannels)
	s.awaitDeliveries(s.eventID("ended", 0), "SENT", 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'FAILED' AND outcome = 'CANCELLED'`,
		s.eventID("terminated", 0)))
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND user_id = '2' AND status = 'CANCELLED' AND last_error = 'terminated'`,
			s.eventID("terminated", 0)))
	require.Equal(t, loadChannels,
		s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'PENDING' AND restarts = 0`, s.eventID("waiting", 0)))
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'PROCESSING' AND restarts = 0`, s.eventID("waiting", 0)))

	s.awaitSuccess(s.eventID("lost", 0))
	require.Zero(t, s.sweep().StartedAgain)
	require.NotContains(t, s.starter("status"), "incomplete events")
	require.Regexp(t, `last sweep .+ 0 started again, 0 closed, 0 failed`, s.starter("status"))
	s.sweepGivesUp()
	require.NoError(t, w.stop())
}

// The sweep gives up a delivery whose workflow disappears after each start.
func (s *system) sweepGivesUp() {
	s.fault("email", `{"status":429,"rate":1,"retry_after":"15m"}`)
	s.lostEvent("gone")
	event := s.eventID("gone", 0)
	id := event + "-customer1-EMAIL"
	s.exec(`UPDATE processed_event SET status = 'SUCCESS', created_at = now() - interval '1 hour' WHERE event_id = $1`, event)
	s.lostDelivery(event, "1")
	s.exec(`UPDATE notification SET created_at = now() - interval '1 hour', strategy = 'DELAYED', send_after = now() + interval '1 `+
		`day' WHERE delivery_id = $1`, id)
	require.Zero(s.t, s.sweep().StartedAgain, "its time has not come")
	s.exec(`UPDATE notification SET send_after = now() WHERE delivery_id = $1`, id)

	for range 3 {
		require.Equal(s.t, 1, s.sweep().StartedAgain)
		s.eventually(func() bool {
			s.exec(`UPDATE provider_state SET rests_until = NULL, rests = 0`) // the worker may record the rest after the attempt
			return s.count(`SELECT count(*) FROM notification WHERE status = 'PENDING' AND attempt_count > 0 AND attempt_owner IS NULL `+
				`AND next_attempt_at > now()`) == 1
		}, "the delivery is not tried")
		require.Zero(s.t, s.sweep().StartedAgain, "it waits for its next attempt")
		s.lose(id)
		s.exec(`UPDATE notification SET next_attempt_at = now() WHERE delivery_id = $1`, id)
	}
	require.Equal(s.t, 1, s.sweep().Failed)

	require.Equal(s.t, 1,
		s.count(`SELECT count(*) FROM notification WHERE status = 'FAILED' AND last_error = 'started again 3 times in vain'`))
	letters := s.deadLetters()
	require.Len(s.t, letters, 1)
	require.Contains(s.t, string(letters[0].Body), id)
}

// scheduled waits until Temporal has the schedule of the sweeps and pauses it, so that only the
// test starts sweeps.
func (s *system) scheduled() {
	s.t.Helper()
	schedule := s.temporal.ScheduleClient().GetHandle(s.t.Context(), workflows.SweepID(s.name))
	s.eventually(func() bool {
		return schedule.Pause(s.t.Context(), client.SchedulePauseOptions{}) == nil
	}, "nobody scheduled the sweep")
	again := launch.Launcher{Client: s.temporal, Prefix: s.name}
	require.NoError(s.t, again.ScheduleSweep(s.t.Context()), "another worker starts")
	s.eventually(func() bool {
		described, err := schedule.Describe(s.t.Context())
		return err == nil && described.Schedule.State.Paused && len(described.Info.RunningWorkflows) == 0
	}, "a sweep does not end")
}

// sweep runs one sweep, and returns its result.
func (s *system) sweep() notification.Sweep {
	s.t.Helper()
	options := client.StartWorkflowOptions{ID: workflows.SweepID(s.name) + "-" + uuid.NewString(), TaskQueue: workflows.EventsQueue(s.name)}
	run := must(s.temporal.ExecuteWorkflow(s.t.Context(), options, workflows.Sweep))(s.t)
	var found notification.Sweep
	require.NoError(s.t, run.Get(s.t.Context(), &found))
	return found
}

// lostEvent writes an event that is marked as started but has no workflow.
func (s *system) lostEvent(round string) {
	s.t.Helper()
	id := s.eventID(round, 0)
	s.exec(`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		VALUES ($1, 'LOAD', 'CUSTOMER', '1', '{"number": 1}', 'PROCESSED', now())`, id)
	s.fill(postgrestest.ProcessedEvent{ID: id})
}

// lostDelivery writes a planned delivery by e-mail that has no workflow.
func (s *system) lostDelivery(event, user string) {
	s.t.Helper()
	s.fill(
		postgrestest.Delivery{ID: notification.DeliveryID(event, "customer", user, notification.Email), EventID: event, EventType: "LOAD",
			UserID: user, Title: "Hello", Body: "You", Address: "ada@example.com"})
}

// lose deletes a workflow from Temporal.
func (s *system) lose(id string) {
	s.t.Helper()
	_, err := s.temporal.WorkflowService().DeleteWorkflowExecution(s.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	require.NoError(s.t, err)
	s.eventually(func() bool {
		_, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
		return launch.IsNotFound(err)
	}, "%s is not forgotten", id)
}
