package launch

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"herald/workflows"
)

// Serving returns the generations that get the tasks of events: the current generation and the
// ramping generation. It asks the task queue, which answers from memory.
func (l *Launcher) Serving(ctx context.Context) ([]int, error) {
	described, err := l.Client.DescribeTaskQueue(ctx, workflows.EventsQueue(l.Prefix), enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil && !IsNotFound(err) {
		return nil, fmt.Errorf("read the generations that get tasks: %w", err)
	}
	return serving(described.GetVersioningInfo()), nil
}

// serving returns the generations that get the tasks of a queue.
func serving(routing *taskqueuepb.TaskQueueVersioningInfo) []int {
	generations := []int{Generation(routing.GetCurrentDeploymentVersion().GetBuildId())}
	if routing.GetRampingVersionPercentage() > 0 {
		generations = append(generations, Generation(routing.GetRampingDeploymentVersion().GetBuildId()))
	}
	return generations
}
