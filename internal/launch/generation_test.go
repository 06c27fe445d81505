package launch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	deployment "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/launch"
	"herald/workflows"
)

// Temporal refuses a name that has a dot or a colon, begins with two underscores, or is too long.
func TestDeployment(t *testing.T) {
	t.Parallel()

	for namespace, want := range map[string]string{
		"default": "default/herald", "orders.a1b2c": "orders_a1b2c/herald", "a:b": "a_b/herald", "__x": "x/herald",
		strings.Repeat("é", 80): strings.Repeat("é", 50) + "/herald",
	} {
		require.Equal(t, want, launch.Deployment(namespace, "herald"))
	}
}

func TestBuildID(t *testing.T) {
	t.Parallel()

	require.Equal(t, "1", launch.BuildID(1))
	require.Equal(t, 4, launch.Generation("4"))
	require.Zero(t, launch.Generation(""))
	require.Zero(t, launch.Generation("82372a10cf317325059cfd51f9fb5289"), "the SDK's build ID of a worker without a version")
}

// deployments is a server with one deployment.
type deployments struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
	workflowservice.WorkflowServiceClient
	info    *deployment.WorkerDeploymentInfo
	err     error
	answers []error // the answers to changes of the routing, in turn
	hangs   bool    // it never answers whether all task queues know a change
}

func (d *deployments) GetHandle(string) client.WorkerDeploymentHandle { return d }

func (d *deployments) SetCurrentVersion(
	context.Context, client.WorkerDeploymentSetCurrentVersionOptions,
) (client.WorkerDeploymentSetCurrentVersionResponse, error) {
	return client.WorkerDeploymentSetCurrentVersionResponse{}, d.answer()
}

func (d *deployments) answer() error {
	next := d.answers[0]
	d.answers = d.answers[1:]
	return next
}

func (d *deployments) DescribeWorkerDeployment(
	ctx context.Context, _ *workflowservice.DescribeWorkerDeploymentRequest, _ ...grpc.CallOption,
) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &workflowservice.DescribeWorkerDeploymentResponse{WorkerDeploymentInfo: d.info, ConflictToken: []byte("t")}, d.err
}

func TestGenerations(t *testing.T) {
	t.Parallel()

	version := func(build string) *deployment.WorkerDeploymentVersion {
		return &deployment.WorkerDeploymentVersion{BuildId: build}
	}
	type summary = deployment.WorkerDeploymentInfo_WorkerDeploymentVersionSummary
	never, activated := &summary{DeploymentVersion: version("4")},
		&summary{DeploymentVersion: version("4"), FirstActivationTime: timestamppb.Now()}
	tests := []struct {
		name    string
		info    *deployment.WorkerDeploymentInfo
		err     error
		want    launch.Generations
		lacking bool
		fails   bool
	}{
		{name: "no worker yet", err: serviceerror.NewNotFound("none")},
		{name: "not promoted", info: &deployment.WorkerDeploymentInfo{VersionSummaries: []*summary{never}},
			want: launch.Generations{Seen: []int{4}}},
		{name: "promoted", info: &deployment.WorkerDeploymentInfo{
			VersionSummaries: []*summary{activated, {DeploymentVersion: version("5")}},
			RoutingConfig:    &deployment.RoutingConfig{CurrentDeploymentVersion: version("4")},
		}, want: launch.Generations{Current: 4, Seen: []int{5, 4}, Activated: []int{4}}},
		{name: "ramping", info: &deployment.WorkerDeploymentInfo{RoutingConfig: &deployment.RoutingConfig{
			CurrentDeploymentVersion: version("4"), RampingDeploymentVersion: version("5"), RampingVersionPercentage: 25,
		}}, want: launch.Generations{Current: 4, Ramping: 5, Percent: 25}},
		{name: "an old server", err: serviceerror.NewUnimplemented("unknown method"), lacking: true},
		{name: "switched off", err: serviceerror.NewPermissionDenied("disabled on this namespace", ""), lacking: true},
		{name: "out of reach", err: serviceerror.NewUnavailable("no"), fails: true},
	}
	for _, tt := range tests {
		server := mocks.NewClient(t)
		server.On("WorkflowService").Return(&deployments{info: tt.info, err: tt.err})
		if tt.err == nil {
			tt.want.Token = []byte("t")
		}
		found, err := (&launch.Launcher{Client: server, Namespace: "default", Prefix: "herald"}).Generations(t.Context())
		require.Equal(t, tt.lacking, err != nil && strings.Contains(err.Error(), "1.28"), tt.name)
		if tt.lacking {
			require.ErrorAs(t, err, new(*launch.NoVersioningError))
			continue
		}
		if tt.fails {
			require.ErrorIs(t, err, tt.err, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, found, tt.name)
	}
}

// Only the generation that gets all new workflows starts events eagerly: of a ramping generation, a worker
// would get all events, and the current generation would get their next tasks.
func TestStartsEagerly(t *testing.T) {
	t.Parallel()

	version := func(generation int) *deployment.WorkerDeploymentVersion {
		return &deployment.WorkerDeploymentVersion{BuildId: launch.BuildID(generation)}
	}
	ours, newer := version(workflows.CommandVersion), version(workflows.CommandVersion+1)
	tests := []struct {
		name    string
		routing *deployment.RoutingConfig
		err     error
		want    bool
	}{
		{name: "current", routing: &deployment.RoutingConfig{CurrentDeploymentVersion: ours}, want: true},
		{name: "replaced", routing: &deployment.RoutingConfig{CurrentDeploymentVersion: newer}},
		{name: "another ramps", routing: &deployment.RoutingConfig{
			CurrentDeploymentVersion: ours, RampingDeploymentVersion: newer, RampingVersionPercentage: 1,
		}},
		{name: "ramping", routing: &deployment.RoutingConfig{
			CurrentDeploymentVersion: newer, RampingDeploymentVersion: ours, RampingVersionPercentage: 99,
		}},
		{name: "out of reach", err: serviceerror.NewUnavailable("no")},
	}
	for _, tt := range tests {
		server, launcher := withServer(t)
		server.On("WorkflowService").Return(&deployments{info: &deployment.WorkerDeploymentInfo{RoutingConfig: tt.routing}, err: tt.err})
		require.Equal(t, tt.want, launcher.StartsEagerly(t.Context()), tt.name)
	}
}

// A change of the routing is repeated if the server does not answer in time, but not if it refuses.
func TestChangesOfTheRoutingOnALoadedServer(t *testing.T) {
	t.Parallel()

	late, refused := serviceerror.NewDeadlineExceeded("late"), serviceerror.NewFailedPrecondition("no")
	for _, want := range []error{nil, refused} {
		server := &deployments{answers: []error{late, late, want}}
		temporal := mocks.NewClient(t)
		temporal.On("WorkerDeploymentClient").Return(server)
		temporal.On("WorkflowService").Return(server).Maybe()
		launcher := &launch.Launcher{Client: temporal, Prefix: "herald"}

		require.ErrorIs(t, launcher.SetGeneration(t.Context(), launch.RoutingChange{Generation: 5}), want)
		require.Empty(t, server.answers)
	}
}

// A server that hangs after a change does not block the promotion.
func TestChangeOfTheRoutingOnAServerThatHangs(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		server := &deployments{answers: []error{nil}, hangs: true}
		temporal := mocks.NewClient(t)
		temporal.On("WorkerDeploymentClient").Return(server)
		temporal.On("WorkflowService").Return(server)
		launcher := &launch.Launcher{Client: temporal, Prefix: "herald"}

		require.NoError(t, launcher.SetGeneration(t.Context(), launch.RoutingChange{Generation: 5}))
	})
}
