package main

import (
	"context"
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

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

const (
	noWorkflow    = enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	isRunning     = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	wasCompleted  = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	wasCanceled   = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	wasTerminated = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

// desk is an operator over a database of the test's own, with event evt-1 and its
// delivery d1, and a Temporal that a test tells what to answer.
type desk struct {
	*operator
	t        *testing.T
	temporal *mocks.Client
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{operator: &operator{app: &app{}, db: postgrestest.New(t), prefix: "test"}, t: t}
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'CUSTOMER', '1', '{}')`)
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'EMAIL', 'd1', 'title', 'body')`)
	d.reset(notification.Pending)
	return d
}

// reset is another case: another Temporal, and a delivery of that status.
func (d *desk) reset(status notification.Status) {
	d.t.Helper()
	d.temporal = mocks.NewClient(d.t)
	d.operator.temporal, d.operator.patience = d.temporal, newPatience(time.Minute)
	d.setStatus(status)
}

func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	_, err := d.db.Pool.Exec(d.t.Context(), sql, args...)
	require.NoError(d.t, err)
}

func (d *desk) setStatus(status notification.Status) {
	d.t.Helper()
	d.exec(`UPDATE notification SET status = $1, last_error = 'why', sent_at = '2026-11-21T08:00:00Z', delivered_at = now()`, string(status))
}

// workflow lets Temporal know a workflow.
func (d *desk) workflow(id string, status enums.WorkflowExecutionStatus) {
	d.describes(id, status).Maybe()
}

func (d *desk) describes(id string, status enums.WorkflowExecutionStatus) *mock.Call {
	var err error
	if status == noWorkflow {
		err = serviceerror.NewNotFound("no such workflow")
	}
	return d.temporal.On("DescribeWorkflowExecution", mock.Anything, id, "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status},
	}, err)
}

// planner is a verb of an operator.
type planner func(ctx context.Context, id string) (plan, error)

// would is a dry run of a verb.
func (d *desk) would(verb planner, id string) (outcome, error) {
	plan, err := verb(d.t.Context(), id)
	return plan.would, err
}

// does runs a verb.
func (d *desk) does(verb planner, id string) (outcome, error) {
	run := newBulkRun(d.app, job{plan: verb, record: d.record}, 1)
	return run.change(d.t.Context(), id)
}

func (d *desk) retrying(again bool) planner {
	return func(ctx context.Context, id string) (plan, error) { return d.planRetryDelivery(ctx, id, again) }
}

func (d *desk) signalling(s instruction) planner {
	return func(ctx context.Context, id string) (plan, error) { return d.planSignal(ctx, id, s) }
}

// ends lets a workflow's end come with err, after change.
func ends(change func(), err error) *mocks.WorkflowRun {
	run := &mocks.WorkflowRun{}
	run.On("Get", mock.Anything, nil).Run(func(mock.Arguments) { change() }).Return(err)
	return run
}

// hangs is a workflow that does not end while anybody waits.
func hangs() *mocks.WorkflowRun {
	run := &mocks.WorkflowRun{}
	run.On("Get", mock.Anything, nil).Run(func(args mock.Arguments) { <-args.Get(0).(context.Context).Done() }).Return(context.DeadlineExceeded)
	return run
}

// Every status that a delivery can have when its workflow was asked to end.
func TestCancelDelivery(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for after, want := range map[notification.Status]outcome{
		notification.Cancelled: {Done: true, Result: "cancelled"},
		notification.Sent:      {Result: "was sent", Detail: "2026-11-21 08:00:00.000Z; what was sent stays sent"},
		notification.Delivered: {Result: "was sent", Detail: "2026-11-21 08:00:00.000Z; what was sent stays sent"},
		notification.Failed:    {Result: "has failed", Detail: "why"},
		notification.Pending:   {Done: true, Result: "cancellation accepted", Detail: "an attempt is under way, or no worker runs; `starter delivery show d1` tells how it ends"},
	} {
		d.reset(notification.Pending)
		d.workflow("d1", isRunning)
		d.temporal.On("CancelWorkflow", mock.Anything, "d1", "").Return(nil).Once()
		d.temporal.On("GetWorkflow", mock.Anything, "d1", "").Return(ends(func() { d.setStatus(after) }, &temporal.WorkflowExecutionError{}))

		got, err := d.does(d.planCancelDelivery, "d1")

		require.NoError(t, err)
		require.Equal(t, want.Done, got.next == "", "%s: what was not done has an advice", after)
		want.ID, got.next = "d1", ""
		require.Equal(t, want, got, after)
	}
}

// What nobody works on is cancelled in the table alone; what has ended is left.
func TestCancelDeliveryWithoutWorkflow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for before, want := range map[notification.Status]string{
		notification.Pending:   "cancelled: in the table alone, since no workflow was running",
		notification.Cancelled: "was cancelled: why",
		notification.Failed:    "has failed: why",
		notification.Sent:      "was sent: 2026-11-21 08:00:00.000Z; what was sent stays sent",
	} {
		for _, status := range []enums.WorkflowExecutionStatus{noWorkflow, wasCompleted, wasTerminated} {
			d.reset(before)
			d.workflow("d1", status)

			would, err := d.would(d.planCancelDelivery, "d1")
			require.NoError(t, err)
			got, err := d.does(d.planCancelDelivery, "d1")
			require.NoError(t, err)
			require.Equal(t, want, got.said())
			require.Equal(t, before == notification.Pending, got.Done)
			require.Equal(t, got.Done, would.Done)
		}
	}
}

// Where nobody works on workflows, a thousand of them are not waited for.
func TestPatience(t *testing.T) {
	t.Parallel()

	p := newPatience(time.Millisecond)
	ended, err := p.wait(t.Context(), hangs())
	require.NoError(t, err)
	require.False(t, ended)
	require.LessOrEqual(t, p.left.Load(), int64(0))
	ended, _ = p.wait(t.Context(), nil)
	require.False(t, ended, "it does not even look")

	// Temporal's own clock says a moment before ours that the time is over.
	for _, early := range []error{serviceerror.NewDeadlineExceeded("late"), context.DeadlineExceeded} {
		ended, err = newPatience(time.Minute).wait(t.Context(), ends(func() {}, early))
		require.NoError(t, err)
		require.False(t, ended, "%T", early)
	}

	failed := &temporal.WorkflowExecutionError{}
	p = newPatience(time.Minute)
	ended, err = p.wait(t.Context(), ends(func() {}, failed))
	require.True(t, ended)
	require.ErrorIs(t, err, failed)
	require.Equal(t, int64(time.Minute), p.left.Load(), "waiting for what ends costs nothing")
}

// Every status before a retry, and what becomes of a fresh run.
func TestRetryDelivery(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for _, before := range []notification.Status{notification.Pending, notification.Failed, notification.Cancelled, notification.Sent, notification.Delivered} {
		for _, again := range []bool{false, true} {
			d.reset(before)
			d.workflow("d1", wasCompleted)
			sent := before == notification.Sent || before == notification.Delivered
			if !sent || again {
				d.temporal.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).
					Return(ends(func() { d.setStatus(notification.Sent) }, nil), nil).Once()
			}

			would, err := d.would(d.retrying(again), "d1")
			require.NoError(t, err)
			got, err := d.does(d.retrying(again), "d1")

			require.NoError(t, err)
			require.Equal(t, would.Done, got.Done)
			if sent && !again {
				require.False(t, got.Done)
				require.Contains(t, got.next, "--again")
				continue
			}
			require.Equal(t, "sent: 2026-11-21 08:00:00.000Z", got.said())
		}
	}
}

func TestRetryDeliveryEnds(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("running", "", "") // by somebody who was faster
	tests := []struct {
		name   string
		answer error
		after  notification.Status // ""; it does not end
		done   bool
		want   string
	}{
		{"failed once more", nil, notification.Failed, false, "has failed: why"},
		{"cancelled meanwhile", nil, notification.Cancelled, false, "was cancelled: why"},
		{"lost sight of", nil, notification.Pending, true, "started: `starter delivery show d1` tells how it ends"},
		{"not yet", nil, "", true, "started: `starter delivery show d1` tells how it ends"},
		{"running", started, "", false, "is under way: its workflow runs; it is PENDING after 0 attempts"},
	}
	for _, tt := range tests {
		d.reset(notification.Pending)
		d.workflow("d1", wasTerminated)
		run := ends(func() { d.setStatus(tt.after) }, nil)
		if tt.after == "" {
			run, d.patience = hangs(), newPatience(time.Millisecond)
		}
		d.temporal.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(run, tt.answer).Once()

		got, err := d.does(d.retrying(false), "d1")

		require.NoError(t, err)
		require.Equal(t, tt.want, got.said(), tt.name)
		require.Equal(t, tt.done, got.Done, tt.name)
	}
}

// The row says that a delivery failed a moment before its workflow ends.
func TestRetryDeliveryWaitsForTheLastRun(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.setStatus(notification.Failed)
	d.describes("d1", isRunning).Twice()
	d.describes("d1", wasCompleted)
	d.temporal.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		Return(ends(func() { d.setStatus(notification.Sent) }, nil), nil).Once()

	got, err := d.does(d.retrying(false), "d1")

	require.NoError(t, err)
	require.Equal(t, "sent", got.Result)
}

func TestSignalDelivery(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	now := instruction{name: "send-now", result: "told to be sent now"}
	for before, want := range map[notification.Status]string{
		notification.Pending:   "is worked on by nobody: its workflow does not run, or not yet",
		notification.Failed:    "has failed: why",
		notification.Cancelled: "was cancelled: why",
		notification.Sent:      "was sent: 2026-11-21 08:00:00.000Z; what was sent stays sent",
	} {
		d.reset(before)
		if before == notification.Pending { // others are not told: their workflows may be about to end
			d.workflow("d1", wasTerminated)
		} else {
			d.workflow("d1", isRunning)
		}

		would, err := d.would(d.signalling(now), "d1")
		require.NoError(t, err)
		got, err := d.does(d.signalling(now), "d1")
		require.NoError(t, err)
		require.Equal(t, want, got.said())
		require.Equal(t, would, got)
		require.NotEmpty(t, got.next)
	}

	for _, ended := range []bool{false, true} {
		var gone error
		if ended { // between the look and the signal
			gone = serviceerror.NewNotFound("ended")
		}
		d.reset(notification.Pending)
		d.workflow("d1", isRunning)
		d.temporal.On("SignalWorkflow", mock.Anything, "d1", "", "send-now", nil).Return(gone).Once()
		got, err := d.does(d.signalling(now), "d1")
		require.NoError(t, err)
		require.Equal(t, !ended, got.Done)
	}
}

func TestRescheduled(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		at   string
		in   time.Duration
		want time.Time // zero: it is refused
	}{
		{name: "a time in another zone", at: "2026-11-21T09:00:01+01:00", want: now.Add(time.Second)},
		{name: "a year ahead", at: "2027-11-21T08:00:00Z", want: now.Add(maxReschedule)},
		{name: "a duration", in: 36 * time.Hour, want: now.Add(36 * time.Hour)},
		{name: "neither"},
		{name: "both", at: "2026-11-22T08:00:00Z", in: time.Hour},
		{name: "now", at: "2026-11-21T08:00:00Z"},
		{name: "beyond a year", at: "2027-11-21T08:00:01Z"},
		{name: "no time", at: "tomorrow"},
		{name: "a duration beyond a year", in: 366 * 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got, err := rescheduled(tt.at, tt.in, now)

			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want.IsZero(), err != nil)
		})
	}
}

func TestNoSuchID(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for name, change := range map[string]planner{
		"cancel": d.planCancelDelivery, "cancel event": d.planCancelEvent, "retry": d.retrying(true), "signal": d.signalling(instruction{}),
		"retry event": func(ctx context.Context, id string) (plan, error) { return d.planRetryEvent(ctx, id, false) },
	} {
		_, err := change(t.Context(), "x404")
		require.ErrorContains(t, err, "x404: no such", name)
		require.Contains(t, d.app.nextStep(err), "check the id", name)
	}
}
