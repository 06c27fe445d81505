package launch

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"herald/workflows"
)

// routingAge is the time that a process relies on what it has read about generations. So events
// cost no request each, and a promotion reaches new events after five seconds at most.
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
// the event knows its commands, whichever process starts it: a worker that ramps, or a newer starter
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
	generations, err := l.Generations(ctx)
	if err != nil {
		return nil, err
	}
	read := &reading{at: now, oldest: generations.Oldest()}
	l.routing.reading.Store(read)
	return read, nil
}
