package check

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
)

// recentEvents holds the last events of each type, with what planning would read for them now.
// Several subjects share it, but it is read only once.
type recentEvents struct {
	db      *db.DB
	since   time.Duration
	sources []string // the sources with people

	once  sync.Once
	types []recentType
	err   error
}

// recentType is an event type with recent events.
type recentType struct {
	name   string
	setup  notification.EventSetup // of the newest event
	events []notification.Event    // newest first
}

// telling returns the events that should tell somebody. An event that cancels another event
// may tell nobody, if no row routes its type.
func (t recentType) telling() []notification.Event {
	return slices.DeleteFunc(slices.Clone(t.events), func(event notification.Event) bool {
		return event.Cancels != "" && len(t.setup.Routing) == 0
	})
}

// readsAtOnce is the number of event types that are read concurrently.
const readsAtOnce = 4

func (r *recentEvents) read(ctx context.Context) ([]recentType, error) {
	r.once.Do(func() { r.types, r.err = r.readTypes(ctx) })
	return r.types, r.err
}

func (r *recentEvents) readTypes(ctx context.Context) ([]recentType, error) {
	names, err := report.Reader{Pool: r.db.Pool}.RecentTypes(ctx, r.since, r.sources)
	if err != nil {
		return nil, err
	}
	types := make([]recentType, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, name := range names {
		group.Go(func() (err error) {
			types[i], err = r.readType(ctx, name)
			return err
		})
	}
	return types, group.Wait()
}

// readType reads the events of one type. It skips events that were deleted meanwhile.
func (r *recentEvents) readType(ctx context.Context, named report.RecentType) (recentType, error) {
	read := recentType{name: named.EventType}
	for _, id := range named.EventIDs {
		setup, err := r.readEvent(ctx, id, len(read.events) == 0)
		if errors.Is(err, notification.ErrNoEvent) {
			continue
		}
		if err != nil {
			return read, err
		}
		if len(read.events) == 0 {
			read.setup = setup
		}
		read.events = append(read.events, setup.Event)
	}
	return read, nil
}

func (r *recentEvents) readEvent(ctx context.Context, id string, whole bool) (setup notification.EventSetup, err error) {
	if whole {
		return planner.On(r.db).EventSetup(ctx, id)
	}
	setup.Event, _, err = planner.On(r.db).Event(ctx, id)
	return setup, err
}
