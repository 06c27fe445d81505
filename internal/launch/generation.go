package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// maxNamespace is the maximum length of a namespace's name in a deployment's name, in bytes. On
// Postgres, Temporal stores at most 255 bytes for the deployment's name and its additions.
const maxNamespace = 100

// Deployment returns the name of an installation's workers in Temporal. It replaces dots and
// colons, which Temporal refuses. Every namespace of Temporal Cloud has a dot.
func Deployment(namespace, prefix string) string {
	namespace = strings.NewReplacer(".", "_", ":", "_").Replace(strings.TrimLeft(namespace, "_"))
	if len(namespace) > maxNamespace {
		namespace = strings.ToValidUTF8(namespace[:maxNamespace], "")
	}
	return namespace + "/" + prefix
}

// BuildID returns Temporal's name of a generation.
func BuildID(generation int) string { return strconv.Itoa(generation) }

// Generation returns the generation of a build ID; 0: the build ID is not Herald's.
func Generation(buildID string) int {
	generation, _ := strconv.Atoi(buildID)
	return generation
}

// Generations is Temporal's view of the generations of an installation's workers.
type Generations struct {
	Current   int     // its workers get all tasks except the ramping generation's; 0: no generation is current
	Ramping   int     // its workers get Percent of all workflows; 0: no generation is ramping
	Percent   float32 // above 0 while a generation is ramping
	Seen      []int   // generations whose workers have polled, newest first
	Activated []int   // generations of Seen that get tasks, or got tasks before, newest first
	Token     []byte  // identifies this state: see [RoutingChange]
}

// NoVersioningError means that a server lacks Worker Versioning.
type NoVersioningError struct{ Err error }

func (e *NoVersioningError) Error() string {
	return fmt.Sprintf("Temporal has no Worker Versioning here: Herald needs a server of 1.28 or later, with "+
		"system.enableDeploymentVersions: %v",
		e.Err)
}

func (e *NoVersioningError) Unwrap() error { return e.Err }

// Generations reads the generations of the installation from Temporal. If the server has no Worker
// Versioning, the error is a [NoVersioningError].
func (l *Launcher) Generations(ctx context.Context) (Generations, error) {
	var found Generations
	described, err := l.Client.WorkflowService().DescribeWorkerDeployment(ctx, l.describeDeployment())
	switch {
	case IsNotFound(err):
		return found, nil
	case errors.As(err, new(*serviceerror.Unimplemented)), errors.As(err, new(*serviceerror.PermissionDenied)):
		return found, &NoVersioningError{err}
	case err != nil:
		return found, fmt.Errorf("describe worker deployment: %w", err)
	}
	found.Token = described.GetConflictToken()
	routing := described.GetWorkerDeploymentInfo().GetRoutingConfig()
	found.Current = Generation(routing.GetCurrentDeploymentVersion().GetBuildId())
	if found.Percent = routing.GetRampingVersionPercentage(); found.Percent > 0 {
		found.Ramping = Generation(routing.GetRampingDeploymentVersion().GetBuildId())
	}
	for _, version := range described.GetWorkerDeploymentInfo().GetVersionSummaries() {
		generation := Generation(version.GetDeploymentVersion().GetBuildId())
		found.Seen = append(found.Seen, generation)
		if version.GetFirstActivationTime() != nil {
			found.Activated = append(found.Activated, generation)
		}
	}
	newestFirst := func(a, b int) int { return b - a }
	slices.SortFunc(found.Seen, newestFirst)
	slices.SortFunc(found.Activated, newestFirst)
	return found, nil
}

// RoutingChange makes a generation current.
type RoutingChange struct {
	Generation int
	Unless     []byte // the Token of [Generations]: Temporal refuses the change if the state is another one by now; nil: it does not
}

// SetGeneration gives all tasks to the workers of a generation from now on.
func (l *Launcher) SetGeneration(ctx context.Context, change RoutingChange) error {
	options := client.WorkerDeploymentSetCurrentVersionOptions{
		BuildID: BuildID(change.Generation), ConflictToken: change.Unless, IgnoreMissingTaskQueues: true, // some queues may no longer be used
	}
	return l.reroute(ctx, fmt.Sprintf("make generation %d current", change.Generation), func(ctx context.Context) error {
		_, err := l.deployment().SetCurrentVersion(ctx, options)
		return err
	})
}

// reroute changes the generations that get tasks. It repeats the change while the server does not
// answer in time: the SDK waits ten seconds, and a loaded server may need more. A repeat has no
// effect.
func (l *Launcher) reroute(ctx context.Context, what string, change func(context.Context) error) error {
	changing, cancel := context.WithTimeout(ctx, routingTimeout)
	defer cancel()
	for {
		err := change(changing)
		switch {
		case err == nil:
			return l.awaitRouting(ctx)
		case !errors.As(err, new(*serviceerror.DeadlineExceeded)):
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-changing.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(routingInterval):
		}
	}
}

const (
	// routingTimeout is the maximum time for a change of the generations that get tasks.
	routingTimeout = time.Minute
	// routingInterval is the time between two requests about a change.
	routingInterval = 100 * time.Millisecond
	// routingPatience is the maximum wait until all queues know the change. The server may report
	// forever that some do not: https://github.com/temporalio/temporal/issues/11842.
	routingPatience = 5 * time.Second
)

// awaitRouting waits until all task queues know which generations get tasks, but only a few
// seconds. The server may tell the queues only after it has accepted the change, or may not answer.
// The workflows of a late queue begin with an older generation, and move at their next task.
func (l *Launcher) awaitRouting(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, routingPatience)
	defer cancel()
	for {
		described, err := l.Client.WorkflowService().DescribeWorkerDeployment(waiting, l.describeDeployment())
		if err == nil && described.GetWorkerDeploymentInfo().GetRoutingConfigUpdateState() != enums.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS {
			return nil
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-time.After(routingInterval):
		}
	}
}

// QueuesOf returns the task queues that workers of a generation have polled, one entry for
// each queue and kind of task.
func (l *Launcher) QueuesOf(ctx context.Context, generation int) ([]client.WorkerDeploymentTaskQueueInfo, error) {
	described, err := l.deployment().DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: BuildID(generation)})
	if err != nil && !IsNotFound(err) {
		return nil, fmt.Errorf("describe generation %d: %w", generation, err)
	}
	return described.Info.TaskQueuesInfos, nil
}

func (l *Launcher) describeDeployment() *workflowservice.DescribeWorkerDeploymentRequest {
	return &workflowservice.DescribeWorkerDeploymentRequest{
		Namespace: cmp.Or(l.Namespace, client.DefaultNamespace), DeploymentName: Deployment(l.Namespace, l.Prefix),
	}
}

func (l *Launcher) deployment() client.WorkerDeploymentHandle {
	return l.Client.WorkerDeploymentClient().GetHandle(Deployment(l.Namespace, l.Prefix))
}
