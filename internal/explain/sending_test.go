package explain_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/activities"
	"herald/internal/explain"
)

// fakeTemporal has workflows that send.
type fakeTemporal struct {
	client.Client
	workflows map[string]sendingWorkflow
	workers   int
	err       error
}

type sendingWorkflow struct {
	status  enums.WorkflowExecutionStatus
	pending []*workflowpb.PendingActivityInfo
	history []*historypb.HistoryEvent
	details string
	failure error
}

func (s fakeTemporal) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	w, known := s.workflows[id]
	switch {
	case s.err != nil:
		return nil, s.err
	case !known:
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: "test-email"}},
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: w.status, Execution: &commonpb.WorkflowExecution{RunId: "run of " + id}},
		PendingActivities:     w.pending,
	}, nil
}

func (s fakeTemporal) DescribeTaskQueue(_ context.Context, queue string, _ enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	if queue != "test-email" {
		return nil, errors.New("unexpected queue " + queue)
	}
	description := &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{LastAccessTime: timestamppb.New(time.Now().Add(-time.Hour))}}}
	for range s.workers {
		description.Pollers = append(description.Pollers, &taskqueuepb.PollerInfo{LastAccessTime: timestamppb.Now()})
	}
	return description, nil
}

func (s fakeTemporal) GetWorkflow(_ context.Context, id, _ string) client.WorkflowRun {
	return closedRun{failure: s.workflows[id].failure}
}

// closedRun is the run of a workflow that has ended.
type closedRun struct {
	client.WorkflowRun
	failure error
}

func (c closedRun) Get(context.Context, any) error { return c.failure }

func (s fakeTemporal) QueryWorkflow(_ context.Context, id, run, query string, _ ...any) (converter.EncodedValue, error) {
	if query != "__temporal_workflow_metadata" || run != "run of "+id {
		return nil, errors.New("unexpected query")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(&sdkpb.WorkflowMetadata{CurrentDetails: s.workflows[id].details})
	return client.NewValue(payloads), err
}

func (s fakeTemporal) GetWorkflowHistory(_ context.Context, id, _ string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	iterator, events := &mocks.HistoryEventIterator{}, s.workflows[id].history
	for _, event := range events {
		iterator.On("HasNext").Return(true).Once()
		iterator.On("Next").Return(event, nil).Once()
	}
	iterator.On("HasNext").Return(false)
	return iterator
}

func scheduled(t *testing.T, id int64, activity string, input any) *historypb.HistoryEvent {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(input)
	require.NoError(t, err)
	return &historypb.HistoryEvent{EventId: id, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: activity}, Input: payloads},
	}}
}

func activityDone(t *testing.T, of int64, result any) *historypb.HistoryEvent {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(result)
	require.NoError(t, err)
	return &historypb.HistoryEvent{EventId: of + 2, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: of, Result: payloads},
	}}
}

func TestDeliveryWorkflowInBackOff(t *testing.T) {
	t.Parallel()

	due := time.Date(2026, 11, 21, 10, 4, 5, 0, time.UTC)
	temporal := fakeTemporal{workers: 2, workflows: map[string]sendingWorkflow{"d": {
		status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "sending",
		history: []*historypb.HistoryEvent{
			{EventId: 1},
			scheduled(t, 5, "Send", activities.SendInput{AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 9}}),
			scheduled(t, 9, "Send", activities.SendInput{AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}, AttemptsBefore: 2}), // after an operator interrupted the first
		},
		pending: []*workflowpb.PendingActivityInfo{{
			ActivityType: &commonpb.ActivityType{Name: "Send"}, State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, Attempt: 2,
			NextAttemptScheduleTime: timestamppb.New(due), LastFailure: &failurepb.Failure{Message: "sendgrid is busy: 503"},
		}},
	}}}

	require.Equal(t, explain.Sending{
		Execution: explain.Execution{Status: "RUNNING", RunID: "run of d"},
		TaskQueue: "test-email", Workers: 2, Details: "sending", MaxAttempts: 3, Before: 2,
		Pending: []explain.PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 2, NextAttempt: &due, LastFailure: "sendgrid is busy: 503"}},
	}, explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(), "d"))
}

func TestDeliveryWorkflowInADigest(t *testing.T) {
	t.Parallel()

	temporal := fakeTemporal{workers: 1, workflows: map[string]sendingWorkflow{
		"d": {
			status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "waiting for its digest",
			history: []*historypb.HistoryEvent{scheduled(t, 5, "JoinDigest", activities.JoinInput{}), activityDone(t, 5, activities.JoinResult{DigestID: "digest"})},
		},
		"digest": {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "3 joined"},
	}}

	got := explain.Explainer{Temporal: temporal}.DeliveryWorkflow(t.Context(), "d")

	require.Equal(t, "digest", got.DigestID)
	require.Equal(t, "3 joined", got.Digest.Details)
	require.Equal(t, "run of digest", got.Digest.RunID)
}

func TestDeliveryWorkflowWithoutAnswers(t *testing.T) {
	t.Parallel()

	running := map[string]sendingWorkflow{"d": {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, details: "never asked for"}}
	failed := map[string]sendingWorkflow{"d": {status: enums.WORKFLOW_EXECUTION_STATUS_FAILED, failure: errors.New("sendgrid refused: 400")}}
	tests := []struct {
		name     string
		temporal fakeTemporal
		want     explain.Sending
	}{
		{"no worker", fakeTemporal{workflows: running}, explain.Sending{Execution: explain.Execution{Status: "RUNNING", RunID: "run of d"}, TaskQueue: "test-email"}},
		{"failed", fakeTemporal{workflows: failed}, explain.Sending{Execution: explain.Execution{Status: "FAILED", RunID: "run of d", Failure: "sendgrid refused: 400"}, TaskQueue: "test-email"}},
		{"forgotten", fakeTemporal{}, explain.Sending{Execution: explain.Execution{Status: explain.Unknown, Note: "Temporal does not know it: it was not started yet, or its retention has ended"}}},
		{"out of reach", fakeTemporal{err: serviceerror.NewUnavailable("down")}, explain.Sending{Execution: explain.Execution{Status: explain.Unreachable, Note: "down"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, explain.Explainer{Temporal: tt.temporal}.DeliveryWorkflow(t.Context(), "d"))
		})
	}
}
