package launch

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"golang.org/x/sync/singleflight"

	"herald/workflows"
)

// routingAge is the time for which a process reuses what it has read about generations. So an event
// costs no request, and a promotion reaches new events within five seconds.
const routingAge = 5 * time.Second

// routing is the process's last reading of the generations that get tasks.
type routing struct {
	read    singleflight.Group
	reading atomic.Pointer[reading]
}

type reading struct {
	at     time.Time // when the read began
	oldest int       // the oldest generation that gets tasks
}

// commandVersion returns the generation of the commands of an event that starts now: the oldest
// generation that gets tasks, and at most the generation of this build. So each worker that may get
// the event knows its commands, even if a ramping worker starts the event, or a newer starter
// before the promotion.
func (l *Launcher) commandVersion(ctx context.Context) (int, error) {
	if l.Generation > 0 {
		return l.Generation, nil
	}
	last := l.routing.reading.Load()
	if last == nil || time.Since(last.at) > routingAge {
		read, err, _ := l.routing.read.Do("", func() (any, error) { return l.readRouting(ctx) })
		if err != nil {
			return 0, err
		}
		last = read.(*reading)
	}
	return min(last.oldest, workflows.CommandVersion), nil
}

func (l *Launcher) readRouting(ctx context.Context) (*reading, error) {
	now := time.Now()
	generations, err := l.Serving(ctx)
	if err != nil {
		return nil, err
	}
	read := &reading{at: now, oldest: slices.Min(generations)}
	l.routing.reading.Store(read)
	return read, nil
}

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
