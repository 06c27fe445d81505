package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

	"herald/internal/launch"
	"herald/workflows"
)

// Fleet holds the workers of an installation by generation.
type Fleet struct {
	Deployment  string            `json:"deployment"` // its name in Temporal
	Current     int               `json:"current"`    // gets all tasks, except the share of a ramping generation; 0: none is current
	Generations []FleetGeneration `json:"generations"`
	Workers     []FleetWorker     `json:"workers"`
}

// FleetGeneration is a generation that has workers, or open workflows.
type FleetGeneration struct {
	Generation int             `json:"generation"`
	State      GenerationState `json:"state"`
	Percent    float32         `json:"ramp_percent"`   // of all workflows, if it is ramping
	Workers    int             `json:"workers"`        // running processes
	Open       int64           `json:"open_workflows"` // open workflows whose last task was done by a worker of this generation
}

// GenerationState is the state of a generation.
type GenerationState string

// Temporal's own state of a version does not count workflows that upgrade automatically. All
// workflows of Herald do, so Temporal calls the version drained at once. Therefore Draining and
// Drained follow from the open workflows.
const (
	Current  GenerationState = "CURRENT"
	Ramping  GenerationState = "RAMPING"
	Draining GenerationState = "DRAINING" // it gets no tasks: each open workflow moves at its next task
	Drained  GenerationState = "DRAINED"  // it gets no tasks, and all its workflows have moved or ended
	Waiting  GenerationState = "WAITING"  // it is newer than the current generation, and gets no tasks yet
)

func stateOf(generation int, open int64, all launch.Generations) GenerationState {
	switch {
	case generation == all.Current:
		return Current
	case generation == all.Ramping:
		return Ramping
	case open > 0:
		return Draining
	case generation > all.Current:
		return Waiting
	default:
		return Drained
	}
}

// FleetWorker is a worker of one task queue.
type FleetWorker struct {
	TaskQueue string `json:"task_queue"`
	launch.Worker
}

// ReadFleet reads the workers of all task queues.
func ReadFleet(ctx context.Context, launcher *launch.Launcher) (Fleet, error) {
	generations, err := launcher.Generations(ctx)
	if err != nil {
		return Fleet{}, err
	}
	fleet := Fleet{Deployment: launch.Deployment(launcher.Namespace, launcher.Prefix), Current: generations.Current, Workers: []FleetWorker{}}
	for _, queue := range queuesOf(launcher.Prefix) {
		workers, err := launch.WorkersOf(ctx, launcher.Client, launcher.Namespace, queue)
		if err != nil {
			return Fleet{}, err
		}
		for _, worker := range workers {
			fleet.Workers = append(fleet.Workers, FleetWorker{queue, worker})
		}
	}
	for _, generation := range generations.Seen {
		found, err := fleet.generation(ctx, launcher, generation, generations)
		if err != nil {
			return Fleet{}, err
		}
		if found.State == Current || found.Workers > 0 || found.Open > 0 {
			fleet.Generations = append(fleet.Generations, found)
		}
	}
	return fleet, nil
}

func (f Fleet) generation(
	ctx context.Context, launcher *launch.Launcher, generation int, all launch.Generations,
) (found FleetGeneration, err error) {
	found.Generation = generation
	var processes []string
	for _, worker := range f.Workers {
		alive := worker.Status == launch.WorkerRunning || worker.Status == launch.WorkerIdle
		if alive && worker.Generation == generation && !slices.Contains(processes, worker.Identity) {
			processes = append(processes, worker.Identity)
		}
	}
	found.Workers = len(processes)
	found.Open, err = openWorkflows(ctx, launcher, generation)
	if found.State = stateOf(generation, found.Open, all); found.State == Ramping {
		found.Percent = all.Percent
	}
	return found, err
}

// DrainingWorkflows counts the open workflows whose last task was done by a worker of a generation
// that gets no tasks any more.
func DrainingWorkflows(ctx context.Context, launcher *launch.Launcher) (int64, error) {
	serving, err := launcher.Serving(ctx)
	if err != nil {
		return 0, err
	}
	var old []int
	for generation := 1; generation <= max(slices.Max(serving), workflows.CommandVersion); generation++ {
		if !slices.Contains(serving, generation) {
			old = append(old, generation)
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	return openWorkflows(ctx, launcher, old...)
}

// openWorkflows counts the open workflows whose last task was done by a worker of one of the
// generations.
func openWorkflows(ctx context.Context, launcher *launch.Launcher, generations ...int) (int64, error) {
	var versions []string
	for _, generation := range generations {
		versions = append(versions, fmt.Sprintf("'%s:%s'", launch.Deployment(launcher.Namespace, launcher.Prefix), launch.BuildID(generation)))
	}
	query := fmt.Sprintf("TemporalWorkerDeploymentVersion IN (%s) AND ExecutionStatus = 'Running'", strings.Join(versions, ", "))
	counted, err := launcher.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	if err != nil {
		return 0, fmt.Errorf("count open workflows of generations: %w", err)
	}
	return counted.GetCount(), nil
}
