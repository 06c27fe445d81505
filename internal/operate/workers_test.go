package operate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/worker"

	"herald/internal/launch"
)

func TestStateOf(t *testing.T) {
	t.Parallel()

	all := launch.Generations{Current: 5, Ramping: 6, Percent: 10}
	tests := []struct {
		generation int
		open       int64
		want       GenerationState
	}{
		{7, 0, Waiting}, {7, 1, Draining}, {6, 0, Ramping}, {6, 1, Ramping}, {5, 0, Current}, {4, 1, Draining}, {4, 0, Drained}, {3, 0, Drained},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, stateOf(tt.generation, tt.open, all), "generation %d with %d open workflows", tt.generation, tt.open)
	}
}

// ramping is a deployment whose generation 5 gets half of the workflows of generation 4.
type ramping struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
}

func (r ramping) GetHandle(string) client.WorkerDeploymentHandle { return r }

func (ramping) Describe(context.Context, client.WorkerDeploymentDescribeOptions) (found client.WorkerDeploymentDescribeResponse, err error) {
	found.Info.RoutingConfig = client.WorkerDeploymentRoutingConfig{
		CurrentVersion: &worker.WorkerDeploymentVersion{BuildID: "4"}, RampingVersion: &worker.WorkerDeploymentVersion{BuildID: "5"}, RampingVersionPercentage: 50,
	}
	return found, nil
}

// While an operator ramps a generation, no newer worker promotes itself.
func TestAtStartOfARamp(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	server.On("WorkerDeploymentClient").Return(ramping{})
	o := &Operator{Launcher: &launch.Launcher{Client: server, Prefix: "test"}}
	for _, generation := range []int{5, 6} {
		why, err := o.AtStart(t.Context(), generation)
		require.NoError(t, err)
		require.Contains(t, why, "an operator ramps generation 5")
	}
}
