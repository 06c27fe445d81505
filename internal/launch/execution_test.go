package launch_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
)

// Every status that Temporal has, and workflows that are not ours.
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
	down := serviceerror.NewUnavailable("no connection")
	for status, want := range states {
		requireState(t, "DeliverNotification", "herald-email", status, nil, want, nil)
	}
	const up = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	requireState(t, "NotifyEvent", "herald-email", up, nil, unknown, nil)
	requireState(t, "DeliverNotification", "other-email", up, nil, unknown, nil)
	requireState(t, "", "", up, serviceerror.NewNotFound("no such workflow"), unknown, nil)
	requireState(t, "", "", up, down, "", down)
}

func requireState(t *testing.T, workflowType, queue string, status enums.WorkflowExecutionStatus, answer error, want activities.WorkflowState, wantErr error) {
	t.Helper()
	found := described(workflowType, queue)
	found.WorkflowExecutionInfo.Status = status
	server := mocks.NewClient(t)
	server.On("DescribeWorkflowExecution", mock.Anything, "evt-1-staff10-EMAIL", "").Return(found, answer).Once()
	launcher := launch.Launcher{Client: server, Prefix: "herald"}

	got, err := launcher.DeliveryWorkflow(t.Context(), "evt-1-staff10-EMAIL", notification.Email)

	require.ErrorIs(t, err, wantErr)
	require.Equal(t, want, got, "%s of %s on %s", status, workflowType, queue)
}
