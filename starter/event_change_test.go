package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres"
)

func TestCancelEvent(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	tests := []struct {
		name   string
		end    *mocks.WorkflowRun
		status notification.Status
		done   bool
		want   string
	}{
		{"cancelled", ends(func() {}, &temporal.WorkflowExecutionError{}), notification.Cancelled, true, "cancelled: of its deliveries 1 cancelled"},
		{"sent already", ends(func() {}, &temporal.WorkflowExecutionError{}), notification.Delivered, true, "cancelled: of its deliveries 1 sent, and stay sent"},
		{"through before", ends(func() {}, nil), notification.Failed, false, "has ended: of its deliveries 1 failed"},
		{"still at it", hangs(), notification.Pending, true, "cancellation accepted: of its deliveries 1 still under way"},
	}
	for _, tt := range tests {
		d.reset(tt.status)
		if tt.status == notification.Pending {
			d.patience = newPatience(time.Millisecond)
		}
		d.workflow("evt-1", isRunning)
		d.temporal.On("CancelWorkflow", mock.Anything, "evt-1", "").Return(nil).Once()
		d.temporal.On("GetWorkflow", mock.Anything, "evt-1", "").Return(tt.end)

		got, err := d.does(d.planCancelEvent, "evt-1")

		require.NoError(t, err)
		require.Equal(t, tt.want, got.said(), tt.name)
		require.Equal(t, tt.done, got.Done, tt.name)
	}
}

// An event without a running  workflow, in every state of its two rows.
func TestCancelEventWithoutWorkflow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("DELETE FROM notification")
	d.workflow("evt-1", noWorkflow)
	for rows, want := range map[[2]string]string{
		{"PENDING", ""}:             "withdrawn: it was not started; `starter event retry evt-1` brings it back",
		{"FAILED", ""}:              "was never started: why",
		{"PROCESSED", "SUCCESS"}:    "has ended: it has no deliveries",
		{"PROCESSED", "FAILED"}:     "was cancelled, or has failed: it has no deliveries",
		{"PROCESSED", "PROCESSING"}: "is worked on by nobody: it has no deliveries",
	} {
		d.exec("DELETE FROM processed_event")
		d.exec(`UPDATE event_outbox SET status = $1, error_message = 'why', published_at = CASE $1 WHEN 'PROCESSED' THEN now() END`, rows[0])
		if rows[1] != "" {
			d.exec(`INSERT INTO processed_event (event_id, status) VALUES ('evt-1', $1)`, rows[1])
		}
		would, err := d.would(d.planCancelEvent, "evt-1")
		require.NoError(t, err)
		got, err := d.does(d.planCancelEvent, "evt-1")
		require.NoError(t, err)
		require.Equal(t, want, got.said())
		require.Equal(t, rows[0] == "PENDING", got.Done)
		require.Equal(t, got.Done, would.Done)
	}
}

// A poller that has the event in its hands starts it, and then it is cancelled.
func TestCancelEventThatIsBeingStarted(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	_, err := d.db.ClaimEvents(t.Context(), "poller", 1, time.Hour)
	require.NoError(t, err)
	describe := func() *mock.Call {
		return d.temporal.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "")
	}
	describe().Return(nil, serviceerror.NewNotFound("not yet")).Twice()
	describe().Return(&workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: isRunning},
	}, nil)
	d.temporal.On("CancelWorkflow", mock.Anything, "evt-1", "").Return(nil).Once()
	d.temporal.On("GetWorkflow", mock.Anything, "evt-1", "").Return(ends(func() { d.setStatus(notification.Cancelled) }, &temporal.WorkflowExecutionError{}))

	got, err := d.does(d.planCancelEvent, "evt-1")

	require.NoError(t, err)
	require.Equal(t, "cancelled", got.Result)
}

// The whole domain: an event is put back only where the store does so too, and
// where nobody works on it.
func TestWhyNotRetry(t *testing.T) {
	t.Parallel()

	for _, outbox := range []string{"", "PENDING", "PROCESSED", "FAILED"} {
		for _, processed := range []string{"", "PROCESSING", "SUCCESS", "FAILED"} {
			for status := range enums.WorkflowExecutionStatus_name {
				for _, all := range []bool{false, true} {
					state, status := postgres.EventState{Outbox: outbox, Processed: processed}, enums.WorkflowExecutionStatus(status)
					result, _ := whyNotRetry(state, status, all)
					failed := outbox != "" && (processed == "FAILED" || processed == "PROCESSING" || (processed == "" && outbox == "FAILED"))
					retried := failed && status != isRunning && status != wasCompleted && (!all || status != wasCanceled)
					require.Equal(t, retried, result == "", "%+v %s %t", state, status, all)
				}
			}
		}
	}
}

func (d *desk) retryingEvents(all bool) planner {
	return func(ctx context.Context, id string) (plan, error) { return d.planRetryEvent(ctx, id, all) }
}

func TestRetryEvent(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.setStatus(notification.Cancelled)
	d.exec("INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'FAILED')")
	describe := func() *mock.Call {
		return d.temporal.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "")
	}
	info := func(status enums.WorkflowExecutionStatus) *workflowservice.DescribeWorkflowExecutionResponse {
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}
	}
	describe().Return(info(wasCanceled), nil).Twice()
	refused, err := d.does(d.retryingEvents(true), "evt-1")
	require.NoError(t, err)
	require.Equal(t, "was cancelled: name it to retry it", refused.said())
	would, err := d.would(d.retryingEvents(false), "evt-1")
	require.NoError(t, err)
	require.True(t, would.Done)
	describe().Return(info(isRunning), nil).Once() // it wrote down its end, and is about to end
	describe().Return(info(wasCanceled), nil)

	got, err := d.does(d.retryingEvents(false), "evt-1")

	require.NoError(t, err)
	require.Equal(t, "is pending again: 1 of its deliveries stay cancelled; `starter delivery retry --event evt-1 --status CANCELLED` makes them after all", got.said())
	state, err := d.db.EventState(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, postgres.EventState{Outbox: "PENDING"}, state)
	got, err = d.does(d.retryingEvents(false), "evt-1")
	require.NoError(t, err)
	require.Equal(t, "is pending: a poller will start it", got.said())
}

// Many failed events, but for one that an operator cancelled.
func TestRetryFailedEvents(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	var s screen
	d.operator.app = s.app(console.Table)
	d.exec("DELETE FROM notification")
	d.exec("DELETE FROM event_outbox")
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, error_message)
		SELECT 'evt-' || i, 'T', 'CUSTOMER', '1', '{}', 'FAILED', 'claimed 10 times' FROM generate_series(1, 150) AS i`)
	d.exec(`UPDATE event_outbox SET error_message = $1 WHERE event_id = 'evt-7'`, postgres.CancelledByOperator)
	for i := range 150 {
		d.workflow(fmt.Sprintf("evt-%d", i+1), noWorkflow)
	}
	j := job{verb: "retry", noun: theEvents, plan: d.retryingEvents(true), record: d.record}

	var misuse *usageError
	require.ErrorAs(t, d.failedEvents(t.Context(), j, postgres.FailedEventFilter{}), &misuse)
	j.flags.yes = true
	require.NoError(t, d.failedEvents(t.Context(), j, postgres.FailedEventFilter{}))

	require.Contains(t, s.err.String(), "149 events match")
	require.Equal(t, "matched  149\ndone     149\nfailed   0\n", s.out.String())
	var pending int
	require.NoError(t, d.db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM event_outbox WHERE status = 'PENDING'").Scan(&pending))
	require.Equal(t, 149, pending)
}

// What is promised of failed deliveries is what the workflow does: a best-effort
// one has completed, and is not started again.
func TestRetryEventPromises(t *testing.T) {
	t.Parallel()

	help := terminal{}.must(t, "event", "retry", "--help")
	require.Contains(t, strings.Join(strings.Fields(help), " "),
		"Those that failed are tried again, but for WEBSOCKET, SLACK, which get one attempt: `starter delivery retry` makes them once more.")
}
