package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"herald/internal/launch"
	"herald/internal/operate"
)

// drainingInterval is the time between two counts of the workflows of old generations.
const drainingInterval = 15 * time.Second

// draining is the last count of the workflows of old generations; nil: unknown. A scrape must not
// call Temporal: the client would wait for the end of the scrape to add its metrics.
type draining struct{ count atomic.Pointer[int64] }

// keep counts the workflows until ctx ends.
func (d *draining) keep(ctx context.Context, launcher *launch.Launcher) {
	for ctx.Err() == nil {
		if count, err := operate.DrainingWorkflows(ctx, launcher); err != nil {
			d.count.Store(nil)
		} else {
			d.count.Store(&count)
		}
		select {
		case <-ctx.Done():
		case <-time.After(drainingInterval):
		}
	}
}

func (d *draining) read(context.Context) (int64, error) {
	if count := d.count.Load(); count != nil {
		return *count, nil
	}
	return 0, errUnknown
}

// errUnknown leaves a metric out of a scrape.
var errUnknown = errors.New("no answer from Temporal yet")
