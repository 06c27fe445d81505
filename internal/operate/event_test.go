package operate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/workflows"
)

func TestCancelEvent(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	cancelledEnd := ends(func() {}, &temporal.WorkflowExecutionError{})
	tests := []struct {
		name     string
		end      *mocks.WorkflowRun // nil: it does not end during the wait
		delivery notification.Status
		done     bool
		want     string
	}{
		{name: "cancelled", end: cancelledEnd, delivery: notification.Cancelled, done: true, want: "cancelled: of its deliveries 1 cancelled"},
		{name: "sent already", end: cancelledEnd, delivery: notification.Delivered, done: true,
			want: "cancelled: of its deliveries 1 sent, and stay sent"},
		{name: "ended before", end: ends(func() {}, nil), delivery: notification.Failed, want: "has ended: of its deliveries 1 failed"},
		{name: "not ended yet", delivery: notification.Pending, done: true,
			want: "cancellation accepted: of its deliveries 1 still under way; `starter event show evt-1` shows what became of it"},
	}
	for _, tt := range tests {
		d.reset(tt.delivery)
		d.workflow("evt-1", running)
		d.cancels("evt-1", tt.end)
		if tt.end == nil {
			d.useUpWaits()
		}

		got := d.run(CancelEvent(), "evt-1")

		require.Equal(t, tt.want, got.String(), tt.name)
		require.Equal(t, tt.done, got.Done(), tt.name)
	}
}

// An event without a running workflow, with every status of its two rows.
func TestCancelEventWithoutWorkflow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("DELETE FROM notification")
	d.workflow("evt-1", unknown)
	tests := []struct {
		outbox    notification.OutboxStatus
		processed notification.ProcessedStatus
		want      string
	}{
		{outbox: notification.OutboxPending, want: "withdrawn: it was not started; `starter event retry evt-1` brings it back"},
		{outbox: notification.OutboxFailed, want: "was never started: why"},
		{outbox: notification.OutboxProcessed, processed: notification.ProcessedSuccess, want: "has ended: it has no deliveries"},
		{outbox: notification.OutboxProcessed, processed: notification.ProcessedFailed,
			want: "was cancelled, or has failed: it has no deliveries"},
		{outbox: notification.OutboxProcessed, processed: notification.Processing, want: "has no running workflow: it has no deliveries"},
	}
	for _, tt := range tests {
		d.exec("DELETE FROM processed_event")
		d.exec(`UPDATE event_outbox SET status = $1, error_message = 'why', published_at = CASE $1 WHEN 'PROCESSED' THEN now() END`,
			string(tt.outbox))
		if tt.processed != "" {
			d.exec(`INSERT INTO processed_event (event_id, status) VALUES ('evt-1', $1)`, string(tt.processed))
		}
		expected := d.dryRun(CancelEvent(), "evt-1")
		got := d.run(CancelEvent(), "evt-1")
		require.Equal(t, tt.want, got.String())
		require.Equal(t, tt.outbox == notification.OutboxPending, got.Done())
		require.Equal(t, expected.Done(), got.Done())
	}
}

// If the row says that the event has succeeded, its workflow is not cancelled just before it ends.
func TestCancelEventThatEnds(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.setStatus(notification.Sent)
	d.exec("UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
	d.exec("INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'SUCCESS')")
	d.describes("evt-1", running).Once()
	d.describes("evt-1", completed)

	require.Equal(t, "has ended: of its deliveries 1 sent, and stay sent", d.run(CancelEvent(), "evt-1").String())
}

// If a poller has claimed the event, the poller starts it, and then the event is cancelled.
func TestCancelEventThatIsBeingStarted(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	must(event.On(d.DB).ClaimEvents(t.Context(), "poller", 1, time.Hour))(t)
	d.describes("evt-1", unknown).Twice()
	d.describes("evt-1", running)
	d.cancels("evt-1", ends(func() { d.setStatus(notification.Cancelled) }, &temporal.WorkflowExecutionError{}))

	require.Equal(t, "cancelled", d.run(CancelEvent(), "evt-1").Code.Result())
}

// Every combination of states: an event is retried only if the store would retry it, and if no
// workflow runs.
func TestRetryRefusal(t *testing.T) {
	t.Parallel()

	for _, outbox := range []notification.OutboxStatus{
		"", notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed,
	} {
		for _, processed := range []notification.ProcessedStatus{
			"", notification.Processing, notification.ProcessedSuccess, notification.ProcessedFailed,
		} {
			for status := range enums.WorkflowExecutionStatus_name {
				for _, bulk := range []bool{false, true} {
					state, status := event.EventState{Outbox: outbox, Processed: processed}, enums.WorkflowExecutionStatus(status)
					failed := processed == notification.ProcessedFailed || processed == notification.Processing ||
						(processed == "" && outbox == notification.OutboxFailed)
					cutShort := processed == notification.Processing && status == completed
					retried := outbox != "" && failed && status != running && (status != completed || cutShort) && (!bulk || status != canceled)

					require.Equal(t, retried, retryRefusal(state, status, bulk) == 0, "%+v %s %t", state, status, bulk)
					require.Equal(t, cutShort, beginsAnew(state, status), "%+v %s", state, status)
				}
			}
		}
	}
}

// An event that missed recipients because of the rules is planned again, once its workflow has
// ended. Any other event that succeeded is refused with a reason.
func TestRetryRefusalByOutcome(t *testing.T) {
	t.Parallel()

	for _, outcome := range append(notification.EventOutcomes(), "") {
		state := event.EventState{Outbox: notification.OutboxProcessed, Processed: notification.ProcessedSuccess, Outcome: outcome}
		for _, status := range []enums.WorkflowExecutionStatus{completed, unknown, running} {
			anew := outcome.Mendable() && status != running
			require.Equal(t, anew, retryRefusal(state, status, false) == 0 && beginsAnew(state, status), "%s %s", outcome, status)
		}
	}
}

// Herald writes the order to the tables before it starts the workflow. If the command dies in
// between, a repeated command or the sweep starts the workflow.
func TestRetryEventThatToldNobody(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
	d.exec("INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'SUCCESS', 'NO_ROUTING')")
	d.describes("evt-1", completed)
	require.Equal(t, "would be planned again", d.dryRun(RetryEvent(false), "evt-1").String())
	state := must(event.On(d.DB).EventState(t.Context(), "evt-1"))(t)
	require.Equal(t, notification.NoRouting, state.Outcome, "a dry run changes nothing")

	d.starts(nil, serviceerror.NewInternal("a crash"))
	_, err := (&bulk{operator: d.Operator, verb: RetryEvent(false)}).change(t.Context(), "evt-1")
	require.ErrorContains(t, err, "a crash")
	state = must(event.On(d.DB).EventState(t.Context(), "evt-1"))(t)
	require.Equal(t,
		event.EventState{Source: notification.HeraldSource, Outbox: notification.OutboxProcessed, Processed: notification.Processing}, state)

	d.server.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}), mock.Anything, mock.MatchedBy(func(in workflows.NotifyInput) bool {
		return in.EventID == "evt-1" && !in.Publish // the message was published by the first run
	})).Return(nil, nil).Once()
	d.Launcher.PublishEvents = true
	require.NoError(t, event.On(d.DB).Acknowledge(t.Context(), "evt-1"))
	require.Equal(t, "is planned again", d.run(RetryEvent(false), "evt-1").String(), "again")
}

// If OUTBOX_SOURCES lacks the event's source, nothing changes: otherwise the event would stay
// PROCESSING without a workflow.
func TestRetryEventOfAnUnknownSource(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("UPDATE event_outbox SET source = 'orders', status = 'PROCESSED', published_at = now()")
	d.exec("INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'SUCCESS', 'NO_ROUTING')")
	d.workflow("evt-1", completed)

	require.Contains(t, d.run(RetryEvent(false), "evt-1").String(), "OUTBOX_SOURCES")

	require.Equal(t, notification.ProcessedSuccess, must(event.On(d.DB).EventState(t.Context(), "evt-1"))(t).Processed)
}

func TestRetryEvent(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.setStatus(notification.Cancelled)
	d.exec("INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'FAILED')")
	d.describes("evt-1", canceled).Twice()
	require.Equal(t, "was cancelled: name it to retry it", d.run(RetryEvent(true), "evt-1").String())
	require.True(t, d.dryRun(RetryEvent(false), "evt-1").Done())
	d.describes("evt-1", running).Once() // the row has its end, and the workflow is about to end
	d.describes("evt-1", canceled)

	retried := d.run(RetryEvent(false), "evt-1").String()
	require.Regexp(t, "^is pending again: 1 of its deliveries stay cancelled", retried)
	require.Contains(t, retried, "`starter delivery retry --event evt-1 --status CANCELLED`")
	state := must(event.On(d.DB).EventState(t.Context(), "evt-1"))(t)
	require.Equal(t, event.EventState{Source: notification.HeraldSource, Outbox: notification.OutboxPending}, state)
	require.Equal(t, "is pending: a poller will start it", d.run(RetryEvent(false), "evt-1").String())
}

// A bulk retry leaves out a cancelled event, even if Temporal has forgotten its workflow.
func TestRetryEventThatWasCancelledLongAgo(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
	d.exec("INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'FAILED', 'CANCELLED')")
	d.workflow("evt-1", unknown)
	require.Equal(t, "was cancelled: name it to retry it", d.run(RetryEvent(true), "evt-1").String())
	require.Equal(t, "is pending again", d.run(RetryEvent(false), "evt-1").String())
}

// If another event cancelled an event, its deliveries are sent only if an operator retries one with
// --again. Cancelling the other event does not restore them.
func TestEventCancelledByAnotherEvent(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels)
		VALUES ('evt-2', 'T', 'CUSTOMER', '1', '{}', 'evt-1')`)
	d.exec("INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'FAILED')")
	d.workflow("evt-1", canceled)
	d.workflow("evt-2", unknown)
	for _, status := range []notification.Status{notification.Cancelled, notification.Failed} {
		d.setStatus(status)
		refused := d.run(RetryDelivery(false, time.Minute), "d1")
		require.Equal(t, "is not to be sent: it was cancelled by event evt-2", refused.String())
		require.Contains(t, refused.Next(), "`starter delivery retry d1 --again`")
	}
	require.Contains(t, d.run(RetryEvent(false), "evt-1").String(), "cannot be retried: cancelled by event evt-2")
	require.Contains(t, d.dryRun(CancelEvent(), "evt-2").String(), "event evt-1, which it cancels, stays cancelled")
	require.Contains(t, d.run(CancelEvent(), "evt-2").String(), "withdrawn")
	require.Contains(t, d.run(RetryEvent(false), "evt-1").String(), "cannot be retried: cancelled by event evt-2")

	d.workflow("d1", canceled)
	d.starts(ends(func() { d.setStatus(notification.Sent) }, nil), nil)
	require.Equal(t, "sent", d.run(RetryDelivery(true, time.Minute), "d1").Code.Result())
}

// A bulk retry of many failed events leaves out an event that an operator withdrew.
func TestRetryFailedEvents(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("DELETE FROM notification")
	d.exec("DELETE FROM event_outbox")
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, error_message)
		SELECT 'evt-' || i, 'T', 'CUSTOMER', '1', '{}', 'FAILED', 'claimed 10 times' FROM generate_series(1, 150) AS i`)
	d.exec(`UPDATE event_outbox SET withdrawn_at = now() WHERE event_id = 'evt-7'`)
	for i := range 150 {
		d.workflow(fmt.Sprintf("evt-%d", i+1), unknown)
	}
	selection := must(d.SelectEventsToRetry(t.Context(), event.RetryFilter{}, ""))(t)
	require.Equal(t, 149, selection.Matched)

	require.Equal(t, 149, must(d.Do(t.Context(), RetryEvent(true), selection, nil))(t).Done)
	require.Equal(t, 149, postgrestest.Get[int](t, d.DB, "SELECT count(*) FROM event_outbox WHERE status = 'PENDING'"))
}
