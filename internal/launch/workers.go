package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// queueDescriber is the part of Temporal's client that describes task queues.
type queueDescriber interface {
	DescribeTaskQueue(ctx context.Context, queue string, kind enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error)
}

// workerGone is how long a worker counts after it asked for tasks: each of its
// questions waits for a minute at most.
const workerGone = 90 * time.Second

// Workers counts the workers that asked for tasks of a queue lately.
func Workers(ctx context.Context, temporal queueDescriber, queue string) (int, error) {
	description, err := temporal.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return 0, fmt.Errorf("describe task queue %s: %w", queue, err)
	}
	workers := 0
	for _, worker := range description.GetPollers() {
		if time.Since(worker.GetLastAccessTime().AsTime()) < workerGone {
			workers++
		}
	}
	return workers, nil
}
