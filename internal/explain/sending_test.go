package explain_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/workflows"
)

// sendingWorkflow describes a workflow of a delivery, a digest or a batch.
type sendingWorkflow struct {
	status  enums.WorkflowExecutionStatus
	pending []*workflowpb.PendingActivityInfo
	running map[string]string // the workflow types of children, by id
	history []*historypb.HistoryEvent
	details string
	failure error
	task    *workflowpb.PendingWorkflowTaskInfo
}

// temporalWith returns a client of a Temporal that knows these workflows. It lists this number of
// workers, and one that has stopped.
func temporalWith(t *testing.T, workers int, known map[string]sendingWorkflow) *mocks.Client {
	t.Helper()
	temporal, queue := mocks.NewClient(t), &workflowservice.DescribeTaskQueueResponse{}
	queue.Pollers = []*taskqueuepb.PollerInfo{{Identity: "gone", LastAccessTime: timestamppb.New(time.Now().Add(-time.Hour))}}
	for i := range workers {
		queue.Pollers = append(queue.Pollers, &taskqueuepb.PollerInfo{Identity: strconv.Itoa(i), LastAccessTime: timestamppb.Now()})
	}
	temporal.On("WorkflowService").Return(noHeartbeats{}).Maybe()
	temporal.On("DescribeTaskQueue", mock.Anything, "test-email", mock.Anything).Return(queue, nil).Maybe()
	for id, w := range known {
		runID := "run of " + id
		temporal.On("DescribeWorkflow", mock.Anything, id,
			"").Return(&client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
			ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: "test-email"}},
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: w.status, Execution: &commonpb.WorkflowExecution{RunId: runID}},
			PendingActivities:     w.pending,
			PendingChildren:       childrenOf(w.running),
			PendingWorkflowTask:   w.task,
		}}, nil)
		run, history := &mocks.WorkflowRun{}, &mocks.HistoryEventIterator{}
		run.On("Get", mock.Anything, nil).Return(w.failure)
		for _, event := range w.history {
			history.On("HasNext").Return(true).Once()
			history.On("Next").Return(event, nil).Once()
		}
		history.On("HasNext").Return(false)
		details := encoded(t, &sdkpb.WorkflowMetadata{CurrentDetails: w.details})
		temporal.On("GetWorkflow", mock.Anything, id, runID).Return(run).Maybe()
		temporal.On("GetWorkflowHistory", mock.Anything, id, runID, false, mock.Anything).Return(history).Maybe()
		if workers > 0 {
			temporal.On("QueryWorkflow", mock.Anything, id, runID, "__temporal_workflow_metadata").Return(client.NewValue(details), nil).Maybe()
		}
	}
	return temporal
}

func childrenOf(running map[string]string) (children []*workflowpb.PendingChildExecutionInfo) {
	for id, kind := range running {
		children = append(children, &workflowpb.PendingChildExecutionInfo{WorkflowId: id, RunId: "run of " + id, WorkflowTypeName: kind})
	}
	return children
}

// noHeartbeats is a service without worker heartbeats.
type noHeartbeats struct {
	workflowservice.WorkflowServiceClient
}

func (noHeartbeats) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

// encoded returns a value in the form that histories hold.
func encoded(t *testing.T, value any) *commonpb.Payloads {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(t, err)
	return payloads
}

func scheduled(t *testing.T, id int64, activity string, input any) *historypb.HistoryEvent {
	t.Helper()
	return &historypb.HistoryEvent{EventId: id, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityType: &commonpb.ActivityType{Name: activity}, Input: encoded(t, input),
		},
	}}
}

func activityDone(t *testing.T, of int64, result any) *historypb.HistoryEvent {
	t.Helper()
	return &historypb.HistoryEvent{EventId: of + 2, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: of, Result: encoded(t, result)},
	}}
}

func TestDeliveryWorkflowInBackOff(t *testing.T) {
	t.Parallel()

	due := time.Date(2026, 11, 21, 10, 4, 5, 0, time.UTC)
	temporal := temporalWith(t, 2, map[string]sendingWorkflow{"d": {
		status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "sending",
		history: []*historypb.HistoryEvent{
			{EventId: 1},
			scheduled(t, 5, "Send", activities.SendInput{AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 9}}),
			// after an operator interrupted the first activity
			scheduled(t, 9, "Send", activities.SendInput{AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}, AttemptsBefore: 2}),
		},
		pending: []*workflowpb.PendingActivityInfo{{
			ActivityType: &commonpb.ActivityType{Name: "Send"}, State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, Attempt: 2,
			NextAttemptScheduleTime: timestamppb.New(due), LastFailure: &failurepb.Failure{Message: "sendgrid is busy: 503"},
		}},
	}})

	got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(),
		report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d"}})
	require.Len(t, got.ServedBy, 3)
	got.ServedBy = nil
	require.Equal(t, explain.Sending{
		WorkflowView: explain.WorkflowView{Status: "RUNNING", RunID: "run of d"},
		TaskQueue:    "test-email", Workers: 2, Details: "sending", MaxAttempts: 3, Before: 2,
		Pending: []explain.PendingActivity{
			{Activity: "Send", State: "SCHEDULED", Attempt: 2, NextAttempt: &due, LastFailure: "sendgrid is busy: 503"},
		},
	}, got)
}

// startedWith returns the first event of a workflow's history.
func startedWith(t *testing.T, input any) *historypb.HistoryEvent {
	t.Helper()
	return &historypb.HistoryEvent{EventId: 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: encoded(t, input)},
	}}
}

// A first attempt in a local activity is under way while the workflow's task is under way.
func TestDeliveryWorkflowInItsFirstAttempt(t *testing.T) {
	t.Parallel()

	in := workflows.DeliverInput{DeliveryID: "d"}
	in.Policy.Local, in.Policy.MaxAttempts = true, 3
	limited := in
	limited.Policy.Local = false
	ended := &historypb.HistoryEvent{EventId: 5, EventType: enums.EVENT_TYPE_MARKER_RECORDED}
	tests := []struct {
		name     string
		history  []*historypb.HistoryEvent
		state    enums.PendingWorkflowTaskState
		underWay bool
	}{
		{name: "under way", history: []*historypb.HistoryEvent{startedWith(t, in)}, state: enums.PENDING_WORKFLOW_TASK_STATE_STARTED,
			underWay: true},
		{name: "not begun", history: []*historypb.HistoryEvent{startedWith(t, in)}, state: enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED},
		{name: "ended", history: []*historypb.HistoryEvent{startedWith(t, in), ended}, state: enums.PENDING_WORKFLOW_TASK_STATE_STARTED},
		{name: "none, because the channel has a rate limit", history: []*historypb.HistoryEvent{startedWith(t, limited)},
			state: enums.PENDING_WORKFLOW_TASK_STATE_STARTED},
	}
	for _, tt := range tests {
		temporal := temporalWith(t, 1, map[string]sendingWorkflow{"d": {
			status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, history: tt.history, task: &workflowpb.PendingWorkflowTaskInfo{State: tt.state},
		}})

		got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(),
			report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d"}})

		require.Equal(t, tt.underWay, got.UnderWay(), tt.name)
		require.Equal(t, 3, got.MaxAttempts, tt.name)
	}
}

func TestDeliveryWorkflowInADigest(t *testing.T) {
	t.Parallel()

	temporal := temporalWith(t, 1, map[string]sendingWorkflow{
		"d": {
			status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "waiting for its digest",
			history: []*historypb.HistoryEvent{
				scheduled(t, 5, "JoinDigest", activities.JoinInput{}), activityDone(t, 5, activities.JoinResult{DigestID: "digest"}),
			},
		},
		"digest": {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "3 joined"},
	})

	got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(),
		report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d"}})

	require.Equal(t, "digest", got.DigestID)
	require.Equal(t, "3 joined", got.Digest.Details)
	require.Equal(t, "run of digest", got.Digest.RunID)
}

func TestDeliveryWorkflowWithoutAnswers(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		workflow sendingWorkflow // it has no worker
		want     explain.WorkflowView
	}{
		{name: "no worker", workflow: sendingWorkflow{status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "never asked for"},
			want: explain.WorkflowView{Status: "RUNNING", RunID: "run of d"}},
		{name: "failed", workflow: sendingWorkflow{status: enums.WORKFLOW_EXECUTION_STATUS_FAILED, failure: errors.New("sendgrid refused: 400")},
			want: explain.WorkflowView{Status: "FAILED", RunID: "run of d", Failure: "sendgrid refused: 400"}},
	}
	for _, tt := range tests {
		got := explain.Explainer{Temporal: temporalWith(t, 0, map[string]sendingWorkflow{"d": tt.workflow})}.DeliveryWorkflow(t.Context(),
			report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d"}})
		got.ServedBy = nil
		require.Equal(t, explain.Sending{WorkflowView: tt.want, TaskQueue: "test-email"}, got, tt.name)
	}
}

// A delivery whose workflow was not started yet waits for a worker of the event's queue.
func TestDeliveryWorkflowBeforeItsStart(t *testing.T) {
	t.Parallel()

	temporal := temporalWith(t, 0, map[string]sendingWorkflow{"evt-1": {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}})
	temporal.On("DescribeWorkflow", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("no such workflow"))
	pending := report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d", EventID: "evt-1", Status: notification.Pending}}

	got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(), pending)

	require.Equal(t, explain.Unknown, got.Status)
	require.Contains(t, got.Note, "workflow of its event")
	require.Equal(t, "test-email", got.TaskQueue)
	require.Zero(t, got.Workers)
	require.Len(t, got.ServedBy, 1)
}

// A delivery without a workflow is sent by the batch whose range has its row. Only workers that
// serve batches send it.
func TestDeliveryWorkflowInABatch(t *testing.T) {
	t.Parallel()

	batchOf := func(ids notification.IDRange) sendingWorkflow {
		started := startedWith(t, workflows.BatchInput{IDs: ids, Policy: activities.DeliveryPolicy{TaskQueue: "test-email"}})
		return sendingWorkflow{
			status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, history: []*historypb.HistoryEvent{started}, details: "sending a batch",
			pending: []*workflowpb.PendingActivityInfo{
				{ActivityType: &commonpb.ActivityType{Name: "SendBatch"}, State: enums.PENDING_ACTIVITY_STATE_STARTED},
			},
		}
	}
	temporal := temporalWith(t, 0, map[string]sendingWorkflow{
		"evt-1-lane-EMAIL": {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			running: map[string]string{"evt-1-batch-EMAIL-3": workflows.DeliverBatchType}},
		"evt-1-batch-EMAIL-3": batchOf(notification.IDRange{First: 1001, Last: 1500}),
	})
	temporal.On("DescribeWorkflow", mock.Anything, "d", "").Return(nil, serviceerror.NewNotFound("no such workflow"))
	temporal.On("DescribeTaskQueue", mock.Anything, "test-email-batches", mock.Anything).Return(&workflowservice.DescribeTaskQueueResponse{
		Pollers: []*taskqueuepb.PollerInfo{
			{Identity: "1", LastAccessTime: timestamppb.Now()}, {Identity: "2", LastAccessTime: timestamppb.Now()},
		},
	}, nil)
	pending := report.DeliveryDetail{
		DeliveryRow: report.DeliveryRow{ID: 1500, DeliveryID: "d", EventID: "evt-1", Channel: notification.Email, Status: notification.Pending},
	}

	got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(), pending)

	require.Equal(t, explain.Unknown, got.Status)
	require.Equal(t, "evt-1-batch-EMAIL-3", got.BatchID)
	require.Equal(t, "test-email-batches", got.Batch.TaskQueue)
	require.Equal(t, 2, got.Batch.Workers)
	require.True(t, got.UnderWay())
	require.Contains(t, got.Note, "a batch sends it")
}

// An event shows the progress of its running batches.
func TestBatchesOfAnEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s,
		"INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'RESTAURANT', '5', '{}')")
	progress := encoded(t, activities.BatchProgress{Sent: 210, Failed: 2, Retried: 1})
	running := enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	temporal := temporalWith(t, 1, map[string]sendingWorkflow{
		"evt-1": {status: running,
			running: map[string]string{"evt-1-lane-EMAIL": workflows.NotifyChannelType, "evt-1-customer1-SMS": workflows.DeliverNotificationType}},
		"evt-1-lane-EMAIL": {status: running, running: map[string]string{"evt-1-batch-EMAIL-3": workflows.DeliverBatchType}},
		"evt-1-batch-EMAIL-3": {status: running,
			pending: []*workflowpb.PendingActivityInfo{{ActivityType: &commonpb.ActivityType{Name: "SendBatch"}, HeartbeatDetails: progress}}},
	})

	view, err := explain.Explainer{DB: s, Temporal: temporal}.Event(t.Context(), "evt-1")

	require.NoError(t, err)
	require.Len(t, view.Batches, 1)
	require.Equal(t, "evt-1-batch-EMAIL-3", view.Batches[0].WorkflowID)
	require.Equal(t, explain.BatchProgress{Sent: 210, Failed: 2, Later: 1}, view.Batches[0].Progress)
}
