package check

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
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

func (s *survey) types(ctx context.Context) ([]recentType, error) { return s.recent.read(ctx) }

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

// unrouted finds a type that has events but no routes.
func unrouted(t recentType) []args {
	if telling := t.telling(); len(telling) > 0 && len(t.setup.Routing) == 0 {
		return []args{{"type": t.name, "event": telling[0].ID}}
	}
	return nil
}

// nameless finds a type without rows in event_type_recipients whose aggregate does not name recipients.
func nameless(t recentType) []args {
	if len(t.setup.Recipients) > 0 {
		return nil
	}
	for _, event := range t.telling() {
		if _, problems := notification.Targets(event, nil); len(problems) > 0 {
			return []args{{"type": t.name, "event": event.ID, "why": strings.Join(problems, "; ")}}
		}
	}
	return nil
}

// vainPaths finds rows whose entity_id_path finds nobody in any of the last events.
func vainPaths(t recentType) (found []args) {
	for _, row := range t.setup.Recipients {
		if why := vain(row, t.events); why != "" {
			key := []string{t.name, cmp.Or(string(row.UserType), "any"), row.EntityType, cmp.Or(row.EntityIDPath, "no path")}
			found = append(found, args{"row": strings.Join(key, "/"), "count": strconv.Itoa(len(t.events)), "event": t.events[0].ID, "why": why})
		}
	}
	return found
}

// vain returns the reason why a row finds nobody in any of the events; empty: it finds somebody.
func vain(row notification.EventRecipients, events []notification.Event) (problem string) {
	if notification.PathFlaw(row.EntityIDPath) != "" {
		return "" // impossiblePaths reports it
	}
	for _, event := range events {
		targets, problems := notification.Targets(event, []notification.EventRecipients{row})
		if len(targets) > 0 {
			return ""
		}
		problem = cmp.Or(problem, strings.Join(problems, "; "))
	}
	return problem
}

// lacking finds each route of a type that lacks something in one of the last events.
func lacking(what func(notification.Routing) args) func(recentType) []args {
	return func(t recentType) (found []args) {
		known := map[notification.Channel]bool{}
		for _, event := range t.events {
			setup := notification.EventSetup{Event: event, Routing: slices.Clone(t.setup.Routing)}
			setup.ReadPayload()
			for _, route := range setup.Routing {
				if a := what(route); a != nil && !known[route.Channel] {
					known[route.Channel] = true
					a["route"], a["event"] = routeKey(t.name, route.Channel), event.ID
					found = append(found, a)
				}
			}
		}
		return found
	}
}

func throttleKey(route notification.Routing) args {
	if route.ThrottleKeyPath == "" || route.ThrottleKey != "" || notification.PathFlaw(route.ThrottleKeyPath) != "" {
		return nil
	}
	return args{"path": route.ThrottleKeyPath}
}

// sendTime finds a route without its send time: its deliveries fail.
func sendTime(route notification.Routing) args {
	if route.DueProblem == "" || notification.PathFlaw(route.SendAtPath) != "" {
		return nil
	}
	return args{"why": route.DueProblem}
}
