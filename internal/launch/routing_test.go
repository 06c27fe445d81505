package launch_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/worker"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// An event starts with commands that all workers know that may get it. Its process reads the
// generations once for many events.
func TestStartEventCommands(t *testing.T) {
	t.Parallel()

	version := func(generation int) *worker.WorkerDeploymentVersion {
		return &worker.WorkerDeploymentVersion{BuildID: launch.BuildID(generation)}
	}
	away := serviceerror.NewUnavailable("no")
	newest := workflows.CommandVersion
	tests := []struct {
		name    string
		routing client.WorkerDeploymentRoutingConfig
		err     error
		want    int
	}{
		{name: "workers of 0.2 alone", err: serviceerror.NewNotFound("none"), want: launch.Unversioned},
		{name: "this build is not promoted", want: launch.Unversioned},
		{name: "this build is current", routing: client.WorkerDeploymentRoutingConfig{CurrentVersion: version(newest)}, want: newest},
		{name: "a newer build is current", routing: client.WorkerDeploymentRoutingConfig{CurrentVersion: version(newest + 1)}, want: newest},
		{name: "this build ramps", routing: client.WorkerDeploymentRoutingConfig{RampingVersion: version(newest), RampingVersionPercentage: 1}, want: launch.Unversioned},
		{name: "an older build ramps", routing: client.WorkerDeploymentRoutingConfig{CurrentVersion: version(newest), RampingVersionPercentage: 1}, want: launch.Unversioned},
		{name: "away", err: away},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server := mocks.NewClient(t)
			server.On("WorkerDeploymentClient").Return(deployments{info: client.WorkerDeploymentInfo{RoutingConfig: tt.routing}, err: tt.err}).Once()
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
