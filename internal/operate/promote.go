package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/workflows"
)

// Promotion orders that a generation of workers gets all tasks.
type Promotion struct {
	Generation int
	Rollback   bool // Generation may be older than the current one
	AtStart    bool // a starting worker orders it, which must not override an operator
}

// Promoted is the progress of a promotion.
type Promoted struct {
	Generation int  `json:"generation"`
	From       int  `json:"from_generation"`
	Changed    bool `json:"changed"`   // false: the generation was current already, and nothing remained to do
	Ended      int  `json:"ended"`     // events that were ended, because the generation cannot continue their workflows
	Restarted  int  `json:"restarted"` // ended events that were started again
	Remaining  int  `json:"left"`      // ended events that the sweep will start, because OUTBOX_SOURCES lacks their source here
}

const (
	// promotedPage is the number of events that a promotion reads at once.
	promotedPage = 500
	// promotedAtOnce bounds the events that are checked, ended or started concurrently.
	promotedAtOnce = 8
	// maxClaimed is more than all pollers of an installation claim at the same time.
	maxClaimed = 50_000
)

// Promote switches all tasks to the workers of a generation. Before the switch, it ends the
// workflows that these workers cannot continue by replay. Afterwards it starts their events again
// from the state in the tables.
//
// It may be interrupted at any point. A marked event neither fails nor loses a delivery. The next
// call continues: the next starting worker or an operator makes it. Only one process promotes at a
// time; for other processes the error is [postgres.ErrPromoting]. The error is a
// [NotPromotedError] if a starting worker must leave the routing as it is.
func (o *Operator) Promote(ctx context.Context, order Promotion, progress func(Promoted)) (Promoted, error) {
	held, unlock, err := o.Store.LockPromotions(ctx)
	if err != nil {
		return Promoted{}, err
	}
	defer unlock()
	p := &promotionRun{Operator: o, held: held, progress: progress, done: Promoted{Generation: order.Generation}}
	p.launcher = launch.Launcher{
		Client: o.Launcher.Client, Namespace: o.Launcher.Namespace, Prefix: o.Launcher.Prefix, Sources: o.Launcher.Sources,
		PublishEvents: true, // Publishes, not the setting, decides about publishing
	}
	if begun, err := p.begin(ctx, order); err != nil || !begun {
		return p.done, err
	}
	err = p.run(ctx)
	return p.soFar(), err
}

// promotionRun is a running promotion.
type promotionRun struct {
	*Operator
	launcher launch.Launcher // starts events for the new generation
	held     func(context.Context) error
	progress func(Promoted)
	current  int // the generation that gets the tasks now
	ramping  int // the generation that gets some of them; 0: none
	done     Promoted

	ended, restarted, left atomic.Int64 // numbers of events
}

func (p *promotionRun) soFar() Promoted {
	done := p.done
	done.Ended, done.Restarted, done.Remaining = int(p.ended.Load()), int(p.restarted.Load()), int(p.left.Load())
	return done
}

// begin records the start of the promotion. It reports whether there is anything to do.
func (p *promotionRun) begin(ctx context.Context, order Promotion) (begun bool, err error) {
	generations, err := p.Launcher.Generations(ctx)
	if err != nil {
		return false, err
	}
	last, err := p.Store.LastPromotion(ctx)
	if err != nil {
		return false, err
	}
	p.current, p.ramping, p.done.From = generations.Current, generations.Ramping, generations.Current
	if order.Generation == p.current && !interrupted(last) && (p.ramping == 0 || order.AtStart) {
		return false, nil
	}
	if err := p.permit(ctx, order, generations, last); err != nil {
		return false, err
	}
	switch {
	case interrupted(last) && last.Generation == order.Generation:
		p.done.From = last.From
	case order.Generation == p.current: // it ends a ramp, or an interrupted promotion
		p.done.From = cmp.Or(p.ramping, last.Generation)
	}
	p.done.Changed = true
	detail := fmt.Sprintf("generation %d to %d", p.done.From, order.Generation)
	if err := p.Record(ctx, detail, launch.Deployment(p.Launcher.Namespace, p.Launcher.Prefix)); err != nil {
		return false, err
	}
	return true, p.Store.BeginPromotion(ctx, order.Generation, p.done.From)
}

// run ends events, switches the generation, and starts the events again. Workflows end before the
// switch, so that no worker gets a task that it cannot replay. A second pass after the switch finds
// events that started a lane during the first pass.
func (p *promotionRun) run(ctx context.Context) error {
	if err := p.endMarked(ctx); err != nil {
		return err
	}
	for switched := p.current == p.done.Generation && p.ramping == 0; ; switched = true {
		if err := p.endAll(ctx); err != nil {
			return err
		}
		if switched {
			break
		}
		if err := p.switchGeneration(ctx); err != nil {
			return err
		}
	}
	if err := p.startAll(ctx); err != nil {
		return err
	}
	return p.Store.EndPromotion(ctx)
}

// switchGeneration gives all tasks to the generation. Temporal ends the ramp of this generation by
// itself, and keeps the ramp of another one.
func (p *promotionRun) switchGeneration(ctx context.Context) error {
	if p.ramping != 0 && p.ramping != p.done.Generation {
		if err := p.Launcher.SetRamp(ctx, 0, 0); err != nil {
			return err
		}
	}
	return p.Launcher.SetGeneration(ctx, p.done.Generation)
}

// each calls f for several events concurrently. It fails if the promotion lock is lost.
func each[Event any](ctx context.Context, p *promotionRun, events []Event, f func(context.Context, Event) error) error {
	if err := p.held(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(promotedAtOnce)
	for _, event := range events {
		group.Go(func() error { return f(ctx, event) })
	}
	err := group.Wait()
	p.progress(p.soFar())
	return err
}

// marked calls f for all events that this promotion, or an interrupted promotion, has marked.
func (p *promotionRun) marked(ctx context.Context, f func(context.Context, notification.StuckEvent) error) error {
	for after := ""; ; {
		page, err := p.Store.RestartingEvents(ctx, after, promotedPage)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := each(ctx, p, page, f); err != nil {
			return err
		}
		after = page[len(page)-1].ID
	}
}

// permit refuses a promotion that would leave tasks without a worker, that goes back without
// Rollback, or that a starting worker must not order.
func (p *promotionRun) permit(ctx context.Context, order Promotion, generations launch.Generations, last postgres.Promotion) error {
	if order.AtStart {
		if err := permitAtStart(order.Generation, generations, last); err != nil {
			return err
		}
	}
	if order.Generation < p.current && !order.Rollback {
		return advice.With(fmt.Errorf("generation %d is older than the current generation %d", order.Generation, p.current),
			"add --rollback to go back; docs/upgrading.md says what that does")
	}
	if order.Generation > launch.Unversioned && !slices.Contains(generations.Seen, order.Generation) {
		return advice.With(fmt.Errorf("no worker of generation %d has polled", order.Generation), "start its workers; see `starter workers list`")
	}
	missing, err := p.missingQueues(ctx, order.Generation)
	if err == nil && len(missing) > 0 {
		err = advice.With(&MissingQueuesError{order.Generation, missing}, "start its workers for all queues: a generation takes over as a whole; see `starter workers list`")
	}
	return err
}

// MissingQueuesError means that a generation has no workers for task queues that other generations
// serve.
type MissingQueuesError struct {
	Generation int
	Queues     []string
}

func (e *MissingQueuesError) Error() string {
	return fmt.Sprintf("no worker of generation %d polls %s, which other workers serve", e.Generation, strings.Join(e.Queues, ", "))
}

// missingQueues returns the task queues that have workers of other generations, but none of this
// generation.
func (p *promotionRun) missingQueues(ctx context.Context, generation int) (missing []string, err error) {
	for _, queue := range queuesOf(p.Launcher.Prefix) {
		workers, err := launch.WorkersOf(ctx, p.Launcher.Client, p.Launcher.Namespace, queue)
		if err != nil {
			return nil, err
		}
		if workers.Alive() > 0 && workers.Of(generation).Alive() == 0 {
			missing = append(missing, queue)
		}
	}
	return missing, nil
}

// queuesOf returns the task queues of an installation's workflows.
func queuesOf(prefix string) []string {
	queues := []string{workflows.EventsQueue(prefix)}
	for _, channel := range notification.Channels() {
		queues = append(queues, workflows.ChannelQueue(prefix, channel))
	}
	return queues
}

// interrupted reports whether the last promotion has begun, but not ended.
func interrupted(last postgres.Promotion) bool { return !last.BeganAt.IsZero() && last.EndedAt == nil }

// NotPromotedError means that a starting worker does not promote its generation.
type NotPromotedError struct{ why string }

func (e *NotPromotedError) Error() string { return e.why }

// permitAtStart refuses a promotion by a starting worker that would replace a newer generation or
// an operator's decision.
func permitAtStart(generation int, generations launch.Generations, last postgres.Promotion) error {
	switch {
	case generations.Current > generation:
		return &NotPromotedError{fmt.Sprintf("generation %d is current, and %d is older", generations.Current, generation)}
	case generations.Ramping > 0 && generations.Current < generation:
		return &NotPromotedError{fmt.Sprintf("an operator ramps generation %d: `starter workers promote` promotes it, `starter workers ramp` changes its percentage", generations.Ramping)}
	case last.Generation < generation && generation <= last.From:
		return &NotPromotedError{fmt.Sprintf("an operator went back from generation %d to %d: `starter workers promote` promotes it again", last.From, last.Generation)}
	default:
		return nil
	}
}
