package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

	"herald/internal/launch"
	"herald/internal/postgres"
)

// Fleet holds the workers of an installation by generation.
type Fleet struct {
	Deployment  string              `json:"deployment"` // its name in Temporal
	Current     int                 `json:"current"`    // the generation that gets all tasks
	Generations []FleetGeneration   `json:"generations"`
	Workers     []FleetWorker       `json:"workers"`
	Promotion   *postgres.Promotion `json:"last_promotion"`
	Restarting  int                 `json:"restarting_events"` // events that a promotion has ended, and that are not started again yet
}

// FleetGeneration is a generation that has workers, or open workflows.
type FleetGeneration struct {
	Generation int   `json:"generation"`
	Current    bool  `json:"current"`
	Versioned  bool  `json:"versioned"`      // false: workers of release 0.2 or before
	Workers    int   `json:"workers"`        // running processes
	Open       int64 `json:"open_workflows"` // open workflows whose last task was done by a worker of this generation
}

// FleetWorker is a worker of one task queue.
type FleetWorker struct {
	TaskQueue string `json:"task_queue"`
	launch.Worker
}

// ReadFleet reads the workers of all task queues.
func ReadFleet(ctx context.Context, launcher *launch.Launcher, store *postgres.Store) (Fleet, error) {
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
	for _, generation := range append(generations.Seen, launch.Unversioned) {
		found, err := fleet.generation(ctx, launcher, generation)
		if err != nil {
			return Fleet{}, err
		}
		if found.Current || found.Workers > 0 || found.Open > 0 {
			fleet.Generations = append(fleet.Generations, found)
		}
	}
	last, err := store.LastPromotion(ctx)
	if err != nil {
		return Fleet{}, err
	}
	if !last.BeganAt.IsZero() {
		fleet.Promotion = &last
	}
	fleet.Restarting, err = store.CountRestarting(ctx)
	return fleet, err
}

func (f Fleet) generation(ctx context.Context, launcher *launch.Launcher, generation int) (FleetGeneration, error) {
	found := FleetGeneration{Generation: generation, Current: generation == f.Current, Versioned: generation > launch.Unversioned}
	var processes []string
	for _, worker := range f.Workers {
		alive := worker.Status == launch.WorkerRunning || worker.Status == launch.WorkerIdle
		if alive && worker.Generation == generation && !slices.Contains(processes, worker.Identity) {
			processes = append(processes, worker.Identity)
		}
	}
	found.Workers = len(processes)
	query := fmt.Sprintf(`TemporalWorkerDeploymentVersion = '%s:%s'`, f.Deployment, launch.BuildID(generation))
	if !found.Versioned {
		query = fmt.Sprintf(`TemporalWorkerDeploymentVersion IS NULL AND TaskQueue IN ('%s')`, strings.Join(queuesOf(launcher.Prefix), "', '"))
	}
	counted, err := launcher.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query + ` AND ExecutionStatus = 'Running'`})
	if err != nil {
		return found, fmt.Errorf("count the workflows of generation %d: %w", generation, err)
	}
	found.Open = counted.GetCount()
	return found, nil
}
