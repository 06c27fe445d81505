package operate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	completed  = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	canceled   = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	terminated = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

// wasSent is the outcome of a delivery of the desk that was sent.
const wasSent = "was sent: 2026-11-21 08:00:00.000Z; a sent message cannot be recalled"

// desk is an operator with a separate database, which holds event evt-1 and its delivery d1, and
// with a mocked Temporal.
type desk struct {
	*Operator
	t      *testing.T
	server *mocks.Client
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{Operator: &Operator{Order: Order{Actor: "ada", Command: "x"}, DB: postgrestest.New(t)}, t: t}
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', '{}')`)
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'EMAIL', 'd1', 'title', 'body')`)
	d.reset(notification.Pending)
	return d
}

// reset begins another case: with a new mock of Temporal, and a delivery of the status.
func (d *desk) reset(status notification.Status) {
	d.t.Helper()
	d.server = mocks.NewClient(d.t)
	d.Launcher = &launch.Launcher{Client: d.server, Prefix: "test"}
	d.waited.Store(0)
	d.setStatus(status)
}

// useUpWaits uses up the operator's time to wait for workflows.
func (d *desk) useUpWaits() { d.waited.Store(int64(time.Hour)) }

func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	must(d.DB.Pool.Exec(d.t.Context(), sql, args...))(d.t)
}

func (d *desk) setStatus(status notification.Status) {
	d.t.Helper()
	d.exec(`UPDATE notification SET status = $1, last_error = 'why', sent_at = '2026-11-21T08:00:00Z', delivered_at = now()`, string(status))
}

// workflow makes Temporal return the status of a workflow, at each call. There is no batch.
func (d *desk) workflow(id string, status enums.WorkflowExecutionStatus) {
	d.describes(id, status).Maybe()
	d.describes("evt-1-lane-EMAIL", unknown).Maybe()
}

// batch makes Temporal return no workflow of the delivery, but a batch that sends these numbers of
// table notification.
func (d *desk) batch(ids notification.IDRange) {
	d.t.Helper()
	d.describes("d1", unknown).Maybe()
	d.server.On("DescribeWorkflow", mock.Anything, "evt-1-lane-EMAIL",
		"").Return(&client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		PendingChildren: []*workflowpb.PendingChildExecutionInfo{
			{WorkflowId: "evt-1-page-EMAIL-1", WorkflowTypeName: workflows.NotifyPageType},
			{WorkflowId: "evt-1-batch-EMAIL-2", RunId: "run", WorkflowTypeName: workflows.DeliverBatchType},
		},
	}}, nil)
	input := must(converter.GetDefaultDataConverter().ToPayloads(workflows.BatchInput{IDs: ids}))(d.t)
	history := &mocks.HistoryEventIterator{}
	history.On("HasNext").Return(true)
	history.On("Next").Return(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: input},
	}}, nil)
	d.server.On("GetWorkflowHistory", mock.Anything, "evt-1-batch-EMAIL-2", "run", false, mock.Anything).Return(history)
}

func (d *desk) describes(id string, status enums.WorkflowExecutionStatus) *mock.Call {
	var err error
	if status == unknown {
		err = serviceerror.NewNotFound("no such workflow")
	}
	return d.server.On("DescribeWorkflow", mock.Anything, id,
		"").Return(&client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status},
	}}, err)
}

// cancels expects a cancellation of a workflow, which then ends as `end` does.
func (d *desk) cancels(id string, end *mocks.WorkflowRun) {
	d.server.On("CancelWorkflowWithOptions", mock.Anything,
		client.CancelWorkflowOptions{WorkflowID: id, Reason: "x by ada"}).Return(nil).Once()
	d.server.On("GetWorkflow", mock.Anything, id, "").Return(end)
}

// starts expects the start of a delivery's workflow.
func (d *desk) starts(run *mocks.WorkflowRun, err error) {
	d.server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(run, err).Once()
}

// dryRun returns the outcome of a dry run. run returns the outcome of a run.
func (d *desk) dryRun(verb Verb, id string) Outcome { return d.one(verb, id, true) }

func (d *desk) run(verb Verb, id string) Outcome { return d.one(verb, id, false) }

func (d *desk) one(verb Verb, id string, dryRun bool) Outcome {
	d.t.Helper()
	outcome := must((&bulk{operator: d.Operator, verb: verb, dryRun: dryRun}).change(d.t.Context(), id))(d.t)
	if !outcome.Done() {
		require.NotEmpty(d.t, outcome.Next(), "an outcome that is not done has advice")
	}
	return outcome
}

// ends returns a workflow that calls change and then ends with err.
func ends(change func(), err error) *mocks.WorkflowRun {
	run := &mocks.WorkflowRun{}
	run.On("Get", mock.Anything, nil).Run(func(mock.Arguments) { change() }).Return(err)
	return run
}

// hangs returns a workflow that does not end during the wait.
func hangs() *mocks.WorkflowRun {
	run := &mocks.WorkflowRun{}
	run.On("Get", mock.Anything, nil).Run(func(args mock.Arguments) {
		<-args.Get(0).(context.Context).Done()
	}).Return(context.DeadlineExceeded)
	return run
}

// must returns the value of a call and fails the test if the call has failed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}
