package operate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	deployment "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// If no worker runs, an order does not wait for a thousand workflows one by one.
func TestAwaitEnd(t *testing.T) {
	t.Parallel()

	failed := &temporal.WorkflowExecutionError{}
	for err, want := range map[error]bool{
		nil: true, failed: true, serviceerror.NewDeadlineExceeded("late"): false, context.DeadlineExceeded: false,
	} {
		o := &Operator{}
		ended, endErr := o.awaitEnd(t.Context(), time.Minute, ends(func() {}, err))
		require.Equal(t, want, ended, "%T", err)
		require.Equal(t, want, o.waited.Load() == 0, "a wait for a workflow that ends uses up no time")
		if want {
			require.Equal(t, err, endErr)
		}
	}

	o := &Operator{}
	ended := must(o.awaitEnd(t.Context(), time.Millisecond, hangs()))(t)
	require.False(t, ended)
	ended, _ = o.awaitEnd(t.Context(), time.Millisecond, nil)
	require.False(t, ended, "no time is left, so it does not wait")
}

// For every status of a row and of its workflow, a dry run announces a change if, and only if, the
// run makes a change.
func TestDryRunSaysWhatTheRunDoes(t *testing.T) {
	t.Parallel()

	verbs := map[string]Verb{
		"cancel": CancelDelivery(), "retry": RetryDelivery(false, time.Minute), "again": RetryDelivery(true, time.Minute), "send now": SendNow(),
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := newDesk(t)
			for _, status := range []notification.Status{
				notification.Pending, notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled,
			} {
				for _, workflow := range []enums.WorkflowExecutionStatus{unknown, running, completed, canceled, terminated} {
					if workflow == running && status != notification.Pending {
						continue // the verbs would wait, because the workflow is about to end
					}
					changed := d.obeys(status, workflow)
					expected := d.dryRun(verb, "d1")
					require.False(t, *changed, "a dry run changes nothing")

					got := d.run(verb, "d1")
					require.Equal(t, expected.Done(), *changed || got.Done(), "%s %s", status, workflow)
					if !expected.Done() {
						require.Equal(t, expected, got, "%s %s", status, workflow)
					}
				}
			}
		})
	}
}

// The row of a delivery may say FAILED while its workflow runs: an operator reopened it, or the
// workflow is stuck. A cancellation ends the workflow, and a retry is refused.
func TestWorkflowOfAFailedDeliveryRuns(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	changed := d.obeys(notification.Failed, running)
	require.Equal(t, WouldBeCancelled, d.dryRun(CancelDelivery(), "d1").Code)
	d.run(CancelDelivery(), "d1")
	require.True(t, *changed)

	d.obeys(notification.Cancelled, running)
	require.Equal(t, WasCancelled, d.dryRun(CancelDelivery(), "d1").Code, "another operator was faster, and the workflow is about to end")

	d.obeys(notification.Failed, running)
	require.Equal(t, IsUnderWay, d.dryRun(RetryDelivery(false, 0), "d1").Code)
}

// obeys makes Temporal accept every request, and returns a flag that is set when a request would
// change something.
func (d *desk) obeys(status notification.Status, workflow enums.WorkflowExecutionStatus) *bool {
	d.t.Helper()
	d.reset(status)
	d.workflow("d1", workflow)
	changed := false
	change := func(mock.Arguments) { changed = true }
	cancel := ends(func() { d.setStatus(notification.Cancelled) }, &temporal.WorkflowExecutionError{})
	send := ends(func() { d.setStatus(notification.Sent) }, nil)
	d.server.On("CancelWorkflowWithOptions", mock.Anything,
		client.CancelWorkflowOptions{WorkflowID: "d1", Reason: "x by ada"}).Run(change).Return(nil).Maybe()
	d.server.On("GetWorkflow", mock.Anything, "d1", "").Return(cancel).Maybe()
	d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.SendNow, nil).Run(change).Return(nil).Maybe()
	d.server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Run(change).Return(send, nil).Maybe()
	return &changed
}

func TestNoSuchID(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for _, verb := range []Verb{CancelDelivery(), RetryDelivery(true, 0), SendNow(), CancelEvent(), RetryEvent(false)} {
		summary := must(d.DryRun(t.Context(), verb, SelectIDs([]string{"x404"})))(t)

		var advised *advice.Error
		require.ErrorAs(t, summary.Items[0].Err, &advised)
		require.ErrorContains(t, advised, "x404: no such")
		require.Contains(t, advised.Next, "check the id")
	}
}

// deployments is a Temporal with one deployment, its current generation, and a generation that gets
// half of the workflows; 0: there is none. activated are generations that
// had tasks before, and seen are generations that had none.
type deployments struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
	workflowservice.WorkflowServiceClient
	current, ramping int
	activated, seen  []int
	token            []byte // of the last change of the routing
}

func (d *deployments) GetHandle(string) client.WorkerDeploymentHandle { return d }

func (d *deployments) SetCurrentVersion(
	_ context.Context, options client.WorkerDeploymentSetCurrentVersionOptions,
) (response client.WorkerDeploymentSetCurrentVersionResponse, err error) {
	d.current, d.token = launch.Generation(options.BuildID), options.ConflictToken
	return response, nil
}

// DescribeNamespace returns a namespace whose server keeps no heartbeats.
func (d *deployments) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return nil, nil
}

func (d *deployments) DescribeWorkerDeployment(
	context.Context, *workflowservice.DescribeWorkerDeploymentRequest, ...grpc.CallOption,
) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	if d.current == 0 {
		return nil, serviceerror.NewNotFound("none")
	}
	version := func(generation int) *deployment.WorkerDeploymentVersion {
		return &deployment.WorkerDeploymentVersion{BuildId: launch.BuildID(generation)}
	}
	found := &deployment.WorkerDeploymentInfo{RoutingConfig: &deployment.RoutingConfig{CurrentDeploymentVersion: version(d.current)}}
	if d.ramping > 0 {
		found.RoutingConfig.RampingDeploymentVersion, found.RoutingConfig.RampingVersionPercentage = version(d.ramping), 50
	}
	for _, generation := range append(d.activated, d.current) {
		found.VersionSummaries = append(found.VersionSummaries, &deployment.WorkerDeploymentInfo_WorkerDeploymentVersionSummary{
			DeploymentVersion: version(generation), FirstActivationTime: timestamppb.Now(),
		})
	}
	for _, generation := range d.seen {
		found.VersionSummaries = append(found.VersionSummaries,
			&deployment.WorkerDeploymentInfo_WorkerDeploymentVersionSummary{DeploymentVersion: version(generation)})
	}
	return &workflowservice.DescribeWorkerDeploymentResponse{WorkerDeploymentInfo: found, ConflictToken: []byte("t")}, nil
}

// deploys makes the desk's Temporal answer as d.
func (desk *desk) deploys(d *deployments) *deployments {
	desk.server.On("WorkerDeploymentClient").Return(d).Maybe()
	desk.server.On("WorkflowService").Return(d).Maybe()
	return d
}

// startsWorker promotes as a worker of a generation does when it starts. It returns the reason why
// the worker does not promote; nil: it does.
func (desk *desk) startsWorker(generation int) error {
	_, err := desk.Promote(desk.t.Context(), Promotion{Generation: generation, AtStart: true})
	if why := new(NotPromotedError); errors.As(err, &why) {
		return why
	}
	return nil
}

// A worker that starts promotes its generation, except if the generation is older than the current
// one, or if an operator ramps a generation or has rolled it back.
func TestPromoteAtStart(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name      string
		current   int
		ramping   int
		activated []int // generations that had tasks before
		seen      []int
		own       int
		want      string // empty: it promotes
	}{
		{name: "current already", current: 4, own: 4},
		{name: "a newer one", current: 4, seen: []int{5}, own: 5},
		{name: "an older one", current: 5, activated: []int{4}, own: 4, want: "generation 5 is current, and 4 is older"},
		{name: "rolled back", current: 3, activated: []int{4}, own: 4, want: "an operator went back to 3"},
		{name: "newer than the generation that was rolled back", current: 3, activated: []int{4}, seen: []int{5}, own: 5},
		{name: "promoted again after a rollback", current: 4, activated: []int{3}, own: 4},
		{name: "ramping", current: 4, ramping: 5, own: 5, want: "an operator ramps generation 5"},
		{name: "newer than the ramping generation", current: 4, ramping: 5, own: 6, want: "an operator ramps generation 5"},
		{name: "current while another is ramping", current: 4, ramping: 5, own: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			d := newDesk(t)
			d.server.On("DescribeTaskQueue", mock.Anything, mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("none")).Maybe()
			routing := d.deploys(&deployments{current: tt.current, ramping: tt.ramping, activated: tt.activated, seen: tt.seen})
			why := d.startsWorker(tt.own)
			if tt.want != "" {
				require.ErrorContains(t, why, tt.want)
				require.Equal(t, tt.current, routing.current)
				return
			}
			require.NoError(t, why)
			require.Equal(t, tt.own, routing.current)
			if tt.own != tt.current {
				require.Equal(t, "t", string(routing.token), "an operator's change meanwhile counts")
			}
		})
	}
}

// An operator promotes a generation again after a rollback, and goes back with Rollback.
func TestPromote(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.server.On("DescribeTaskQueue", mock.Anything, mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("none"))
	routing := d.deploys(&deployments{current: 5, activated: []int{4}})

	promoted := must(d.Promote(t.Context(), Promotion{Generation: 4, Rollback: true}))(t)

	require.Equal(t, Promoted{Generation: 4, From: 5, Changed: true}, promoted)
	routing.activated = []int{5}
	require.ErrorContains(t, d.startsWorker(5), "an operator went back to 4")
	require.Equal(t, Promoted{Generation: 5, From: 4, Changed: true}, must(d.Promote(t.Context(), Promotion{Generation: 5}))(t))
	require.Equal(t, 5, routing.current)
	require.Nil(t, routing.token, "an operator's order always counts")
	var detail string
	require.NoError(t, d.DB.Pool.QueryRow(t.Context(), `SELECT string_agg(detail, ', ' ORDER BY id) FROM operator_action`).Scan(&detail))
	require.Equal(t, "generation 5 to 4, generation 4 to 5", detail)
}

// An older generation is promoted only with Rollback. A generation without workers is not promoted.
func TestPromoteRefuses(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.deploys(&deployments{current: 5})
	_, err := d.Promote(t.Context(), Promotion{Generation: 4})
	require.ErrorContains(t, err, "generation 4 is older than the current generation 5")
	_, err = d.Promote(t.Context(), Promotion{Generation: 6})
	require.ErrorContains(t, err, "no worker of generation 6 has polled")
	require.False(t, must(d.Promote(t.Context(), Promotion{Generation: 5}))(t).Changed)
	var recorded int
	require.NoError(t, d.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM operator_action`).Scan(&recorded))
	require.Zero(t, recorded)
}
