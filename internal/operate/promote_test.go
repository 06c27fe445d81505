package operate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"herald/internal/launch"
)

// deployments is Temporal with one deployment, whose current generation is given; 0: none.
type deployments struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
	current int
}

func (d deployments) GetHandle(string) client.WorkerDeploymentHandle { return d }

func (d deployments) Describe(context.Context, client.WorkerDeploymentDescribeOptions) (found client.WorkerDeploymentDescribeResponse, err error) {
	if d.current == 0 {
		return found, serviceerror.NewNotFound("none")
	}
	found.Info.RoutingConfig.CurrentVersion = &worker.WorkerDeploymentVersion{BuildID: launch.BuildID(d.current)}
	return found, nil
}

// A worker that starts promotes its own generation, but never an older one, and none that an
// operator has taken back.
func TestAtStart(t *testing.T) {
	t.Parallel()

	const upgraded, back = `INSERT INTO worker_promotion (generation, from_generation, ended_at) VALUES (4, 3, now())`, `INSERT INTO worker_promotion (generation, from_generation, ended_at) VALUES (3, 4, now())`
	tests := []struct {
		name    string
		current int
		before  []string
		own     int
		want    string // empty: it promotes
	}{
		{name: "the first worker", own: 4},
		{name: "current already", current: 4, before: []string{upgraded}, own: 4},
		{name: "a newer one", current: 4, before: []string{upgraded}, own: 5},
		{name: "an older one", current: 5, own: 4, want: "generation 5 is current, and 4 is older"},
		{name: "rolled back", before: []string{upgraded, back}, own: 4, want: "an operator went back from generation 4 to 3"},
		{name: "newer than what was rolled back", before: []string{upgraded, back}, own: 5},
		{name: "promoted again after a rollback", current: 4, before: []string{upgraded, back, upgraded}, own: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			d := newDesk(t)
			for _, sql := range tt.before {
				d.exec(sql)
			}
			d.server.On("WorkerDeploymentClient").Return(deployments{current: tt.current})
			why, err := d.AtStart(t.Context(), tt.own)
			require.NoError(t, err)
			require.Contains(t, why, tt.want)
			require.Equal(t, tt.want == "", why == "")
		})
	}
}

// An older generation is promoted only on request, and none that has no workers.
func TestPromoteRefuses(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.server.On("WorkerDeploymentClient").Return(deployments{current: 5})
	none := func(Promoted) {}
	_, err := d.Promote(t.Context(), Promotion{Generation: 4}, none)
	require.ErrorContains(t, err, "generation 4 is older than the current generation 5")
	_, err = d.Promote(t.Context(), Promotion{Generation: 6}, none)
	require.ErrorContains(t, err, "no worker of generation 6 has polled")
	done, err := d.Promote(t.Context(), Promotion{Generation: 5}, none)
	require.NoError(t, err)
	require.False(t, done.Changed)
	var recorded int
	require.NoError(t, d.Store.Pool.QueryRow(t.Context(), `SELECT count(*) FROM operator_action`).Scan(&recorded))
	require.Zero(t, recorded)
}
