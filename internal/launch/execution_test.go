package launch_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

func requireState(t *testing.T, found *client.WorkflowExecutionDescription, status enums.WorkflowExecutionStatus, want activities.WorkflowState) {
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
	return launcher.DeliveryWorkflow(t.Context(), "evt-1-staff10-EMAIL", notification.Email)
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
