package launch_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// An event starts with commands that every worker that may get it knows. A process reads the
// generations once for many events.
func TestStartEventCommands(t *testing.T) {
	t.Parallel()

	version := func(generation int) *deploymentpb.WorkerDeploymentVersion {
		return &deploymentpb.WorkerDeploymentVersion{BuildId: launch.BuildID(generation)}
	}
	away := serviceerror.NewUnavailable("no")
	newest := workflows.CommandVersion
	tests := []struct {
		name    string
		routing *taskqueuepb.TaskQueueVersioningInfo
		err     error
		want    int
	}{
		{name: "no worker yet", err: serviceerror.NewNotFound("none"), want: launch.Unversioned},
		{name: "this build is not promoted", want: launch.Unversioned},
		{name: "this build is current", routing: &taskqueuepb.TaskQueueVersioningInfo{CurrentDeploymentVersion: version(newest)}, want: newest},
		{name: "a newer build is current", routing: &taskqueuepb.TaskQueueVersioningInfo{CurrentDeploymentVersion: version(newest + 1)}, want: newest},
		{name: "this build ramps", routing: &taskqueuepb.TaskQueueVersioningInfo{RampingDeploymentVersion: version(newest), RampingVersionPercentage: 1}, want: launch.Unversioned},
		{name: "an older build ramps", routing: &taskqueuepb.TaskQueueVersioningInfo{CurrentDeploymentVersion: version(newest), RampingVersionPercentage: 1}, want: launch.Unversioned},
		{name: "out of reach", err: away},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server := mocks.NewClient(t)
			server.On("DescribeTaskQueue", mock.Anything, "herald-events", enums.TASK_QUEUE_TYPE_WORKFLOW).
				Return(&workflowservice.DescribeTaskQueueResponse{VersioningInfo: tt.routing}, tt.err).Once()
			launcher := launch.Launcher{Client: server, Prefix: "herald"}
			if tt.want == 0 {
				require.ErrorIs(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1"}), away)
				return
			}
			for range 2 {
				server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, workflows.NotifyInput{EventID: "evt-1", CommandVersion: tt.want}).Return(nil, nil).Once()
				require.NoError(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1"}))
			}
		})
	}
}
