package launch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
)

// The state for every status of Temporal, and for workflows of other types and queues.
func TestWorkflowState(t *testing.T) {
	t.Parallel()

	const unknown, running, failed = activities.WorkflowUnknown, activities.WorkflowRunning, activities.WorkflowFailed
	states := map[enums.WorkflowExecutionStatus]activities.WorkflowState{
		enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:      failed,
		enums.WORKFLOW_EXECUTION_STATUS_RUNNING:          running,
		enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:        activities.WorkflowCompleted,
		enums.WORKFLOW_EXECUTION_STATUS_FAILED:           failed,
		enums.WORKFLOW_EXECUTION_STATUS_CANCELED:         activities.WorkflowCancelled,
		enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:       activities.WorkflowTerminated,
		enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: running,
		enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:        failed,
		enums.WORKFLOW_EXECUTION_STATUS_PAUSED:           running,
	}
	require.Len(t, states, len(enums.WorkflowExecutionStatus_name))
	for status, want := range states {
		requireState(t, described("DeliverNotification", "herald-email"), status, want)
	}
	requireState(t, described("NotifyEvent", "herald-email"), enums.WORKFLOW_EXECUTION_STATUS_RUNNING, unknown)
	requireState(t, described("DeliverNotification", "other-email"), enums.WORKFLOW_EXECUTION_STATUS_RUNNING, unknown)
}

func TestWorkflowStateThatCannotBeRead(t *testing.T) {
	t.Parallel()

	down := serviceerror.NewUnavailable("no connection")
	for answer, want := range map[error]error{serviceerror.NewNotFound("no such workflow"): nil, down: down} {
		state, err := stateOf(t, described("", ""), answer)
		require.ErrorIs(t, err, want)
		require.Equal(t, activities.WorkflowUnknown, state)
	}
}

func requireState(
	t *testing.T, found *client.WorkflowExecutionDescription, status enums.WorkflowExecutionStatus, want activities.WorkflowState,
) {
	t.Helper()
	found.RawResponse.WorkflowExecutionInfo.Status = status
	state, err := stateOf(t, found, nil)
	require.NoError(t, err)
	require.Equal(t, want, state, found)
}

func stateOf(t *testing.T, found *client.WorkflowExecutionDescription, answer error) (activities.WorkflowState, error) {
	t.Helper()
	server, launcher := withServer(t)
	server.On("DescribeWorkflow", mock.Anything, "evt-1-staff10-EMAIL", "").Return(found, answer).Once()
	server.On("GetWorkflowHistory", mock.Anything, "evt-1-staff10-EMAIL", "", false,
		closeEvent).Return(&events{left: []*history.HistoryEvent{terminatedBecause("no")}}).Maybe()
	execution, err := launcher.DeliveryWorkflow(t.Context(), "evt-1-staff10-EMAIL", notification.Email)
	return execution.State, err
}

// Terminated reads one run of a workflow, even if a newer run exists.
func TestTerminated(t *testing.T) {
	t.Parallel()

	down := serviceerror.NewUnavailable("no connection")
	tests := []struct {
		status enums.WorkflowExecutionStatus
		err    error
		want   bool
	}{
		{status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, want: true},
		{status: enums.WORKFLOW_EXECUTION_STATUS_CANCELED},
		{status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		{err: serviceerror.NewNotFound("deleted"), want: true},
		{err: down},
	}
	for _, tt := range tests {
		server := &mocks.Client{}
		found := described("NotifyEvent", "herald-events")
		found.RawResponse.WorkflowExecutionInfo.Status = tt.status
		server.On("DescribeWorkflow", mock.Anything, "evt-1", "run-1").Return(found, tt.err)
		got, err := (&launch.Launcher{Client: server}).Terminated(t.Context(), "evt-1", "run-1")
		require.Equal(t, tt.err == down, err != nil)
		require.Equal(t, tt.want, got)
	}
}

// A reset terminates the run, but the run that replaced it counts.
func TestTerminatedFollowsResets(t *testing.T) {
	t.Parallel()

	for status, want := range map[enums.WorkflowExecutionStatus]bool{
		enums.WORKFLOW_EXECUTION_STATUS_RUNNING: false, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: true,
	} {
		server := &mocks.Client{}
		for i, next := range []string{"run-2", "run-3", ""} {
			found := described("NotifyEvent", "herald-events")
			found.RawResponse.WorkflowExecutionInfo.Status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
			found.RawResponse.WorkflowExtendedInfo = &workflow.WorkflowExecutionExtendedInfo{ResetRunId: next}
			if next == "" {
				found.RawResponse.WorkflowExecutionInfo.Status = status
			}
			server.On("DescribeWorkflow", mock.Anything, "evt-1", fmt.Sprintf("run-%d", i+1)).Return(found, nil).Once()
		}

		got, err := (&launch.Launcher{Client: server}).Terminated(t.Context(), "evt-1", "run-1")

		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// An event has a lane while the event runs and Temporal knows the lane as its child.
func TestHasChild(t *testing.T) {
	t.Parallel()

	const running, terminated = enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	down := serviceerror.NewUnavailable("no connection")
	for _, tt := range []struct {
		status enums.WorkflowExecutionStatus
		child  string
		err    error
		want   bool
	}{
		{status: running, child: "evt-1-lane-EMAIL", want: true},
		{status: running, child: "evt-1-lane-SMS"},
		{status: terminated, child: "evt-1-lane-EMAIL"},
		{err: serviceerror.NewNotFound("lost")},
		{err: down},
	} {
		server, launcher := withServer(t)
		found := described("NotifyEvent", "herald-events")
		found.RawResponse.WorkflowExecutionInfo.Status = tt.status
		found.RawResponse.PendingChildren = []*workflow.PendingChildExecutionInfo{{WorkflowId: tt.child}}
		server.On("DescribeWorkflow", mock.Anything, "evt-1", "").Return(found, tt.err).Once()

		got, err := launcher.HasChild(t.Context(), "evt-1", "evt-1-lane-EMAIL")

		require.Equal(t, tt.err == down, err != nil)
		require.Equal(t, tt.want, got)
	}
}

const (
	closeEvent = enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	allEvents  = enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
)

// events iterates over a history or its first events.
type events struct {
	left []*history.HistoryEvent
	err  error // returned by the first call of Next
}

func (e *events) HasNext() bool { return len(e.left) > 0 || e.err != nil }

func (e *events) Next() (*history.HistoryEvent, error) {
	if !e.HasNext() {
		panic("the SDK's iterator panics, too")
	}
	if e.err != nil {
		return nil, e.err
	}
	next := e.left[0]
	e.left = e.left[1:]
	return next, nil
}

func terminatedBecause(reason string) *history.HistoryEvent {
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
		WorkflowExecutionTerminatedEventAttributes: &history.WorkflowExecutionTerminatedEventAttributes{Reason: reason}}}
}

func cancelRequested(by *commonpb.WorkflowExecution) *history.HistoryEvent {
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
		WorkflowExecutionCancelRequestedEventAttributes: &history.WorkflowExecutionCancelRequestedEventAttributes{ExternalWorkflowExecution: by}}}
}

// A termination is a rollback only with the reason of a rollback. An operator's request to cancel
// that no worker has handled stays a cancellation.
func TestStateOfATerminatedWorkflow(t *testing.T) {
	t.Parallel()

	down := serviceerror.NewUnavailable("no connection")
	rollback := events{left: []*history.HistoryEvent{terminatedBecause(notification.RollbackReason)}}
	parent := &commonpb.WorkflowExecution{WorkflowId: "evt-0", RunId: "run-0"}
	tests := []struct {
		end, history events
		want         activities.WorkflowState
		fails        bool
	}{
		{end: rollback, history: events{left: []*history.HistoryEvent{{}}}, want: activities.WorkflowRolledBack},
		{end: rollback, history: events{left: []*history.HistoryEvent{{}, cancelRequested(parent)}}, want: activities.WorkflowRolledBack},
		{end: rollback, history: events{left: []*history.HistoryEvent{{}, cancelRequested(nil)}}, want: activities.WorkflowCancelled},
		{end: rollback, history: events{err: serviceerror.NewNotFound("deleted")}, want: activities.WorkflowRolledBack},
		{end: rollback, history: events{err: down}, fails: true},
		{end: events{left: []*history.HistoryEvent{terminatedBecause("an operator's word")}}, want: activities.WorkflowTerminated},
		{end: events{err: serviceerror.NewNotFound("deleted")}, want: activities.WorkflowTerminated},
		{end: events{err: down}, fails: true},
	}
	for _, tt := range tests {
		server, launcher := withServer(t)
		found := described("NotifyEvent", "herald-events")
		found.RawResponse.WorkflowExecutionInfo.Status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
		found.RawResponse.WorkflowExecutionInfo.Execution = &commonpb.WorkflowExecution{WorkflowId: "evt-1", RunId: "run-1"}
		server.On("DescribeWorkflow", mock.Anything, "evt-1", "").Return(found, nil)
		server.On("GetWorkflowHistory", mock.Anything, "evt-1", "run-1", false, closeEvent).Return(&tt.end)
		server.On("GetWorkflowHistory", mock.Anything, "evt-1", "run-1", false, allEvents).Return(&tt.history).Maybe()

		event, err := launcher.EventWorkflow(t.Context(), "evt-1")

		require.Equal(t, tt.fails, err != nil)
		require.Equal(t, tt.want, event.State)
	}
}

// The first request to cancel a workflow decides: an operator's stays a cancellation, even if the
// event is rolled back afterwards.
func TestRolledBack(t *testing.T) {
	t.Parallel()

	const id = "evt-1-staff10-EMAIL"
	event := &commonpb.WorkflowExecution{WorkflowId: "evt-1", RunId: "run-1"}
	tests := map[string]struct {
		root    *commonpb.WorkflowExecution
		end     *history.HistoryEvent // of the event; nil: it runs
		history []*history.HistoryEvent
		want    bool
	}{
		"by the rollback": {root: event, end: terminatedBecause(notification.RollbackReason),
			history: []*history.HistoryEvent{{}, cancelRequested(event)}, want: true},
		"by an operator before the rollback": {root: event, end: terminatedBecause(notification.RollbackReason),
			history: []*history.HistoryEvent{{}, cancelRequested(nil), cancelRequested(event)}},
		"not cancelled":                {root: event, end: terminatedBecause(notification.RollbackReason), history: []*history.HistoryEvent{{}}},
		"by an operator's termination": {root: event, end: terminatedBecause("no")},
		"the event runs":               {root: event},
		"a delivery without an event":  {root: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "run-2"}},
		"an unknown root":              {},
	}
	for name, tt := range tests {
		server, launcher := withServer(t)
		found := described("DeliverNotification", "herald-email")
		found.RawResponse.WorkflowExecutionInfo.RootExecution = tt.root
		server.On("DescribeWorkflow", mock.Anything, id, "run-2").Return(found, nil)
		end := &events{}
		if tt.end != nil {
			end.left = append(end.left, tt.end)
		}
		server.On("DescribeWorkflow", mock.Anything, "evt-1", "run-1").Return(described("NotifyEvent", "herald-events"), nil).Maybe()
		server.On("GetWorkflowHistory", mock.Anything, "evt-1", mock.Anything, false, closeEvent).Return(end).Maybe()
		server.On("GetWorkflowHistory", mock.Anything, id, "run-2", false, allEvents).Return(&events{left: tt.history}).Maybe()

		got, err := launcher.RolledBack(t.Context(), id, "run-2")

		require.NoError(t, err, name)
		require.Equal(t, tt.want, got, name)
	}
}
