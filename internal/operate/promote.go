package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// Promotion orders that a generation of workers gets all tasks.
type Promotion struct {
	Generation int
	Rollback   bool // Generation may be older than the current one
	AtStart    bool // a starting worker orders it, which must not override an operator
}

// Promoted is the effect of a [Promotion].
type Promoted struct {
	Generation int  `json:"generation"`
	From       int  `json:"from_generation"`
	Changed    bool `json:"changed"` // false: the generation was current already
}

// Promote gives all tasks to the workers of a generation. Open workflows move to them at their next
// task. Older workers cannot continue all workflows of newer ones: after a rollback, an operator
// terminates these workflows, and the sweep starts them again from the tables.
//
// The error is a [NotPromotedError] if a starting worker must leave the routing as it is.
func (o *Operator) Promote(ctx context.Context, order Promotion) (Promoted, error) {
	all, err := o.Launcher.Generations(ctx)
	if err != nil {
		return Promoted{}, err
	}
	promoted := Promoted{Generation: order.Generation, From: all.Current}
	if order.Generation == all.Current {
		return promoted, nil
	}
	if err := o.permit(ctx, order, all); err != nil {
		return promoted, err
	}
	change := launch.RoutingChange{Generation: order.Generation}
	if order.AtStart {
		change.Unless = all.Token
	}
	detail := fmt.Sprintf("generation %d to %d", promoted.From, order.Generation)
	if err := o.Record(ctx, detail, launch.Deployment(o.Launcher.Namespace, o.Launcher.Prefix)); err != nil {
		return promoted, err
	}
	promoted.Changed = true
	return promoted, o.Launcher.SetGeneration(ctx, change)
}

// permit refuses a promotion that would leave tasks without a worker, that goes back without
// Rollback, or that a starting worker must not order.
func (o *Operator) permit(ctx context.Context, order Promotion, all launch.Generations) error {
	if order.AtStart {
		if err := permitAtStart(order.Generation, all); err != nil {
			return err
		}
	}
	if order.Generation < all.Current && !order.Rollback {
		return advice.With(fmt.Errorf("generation %d is older than the current generation %d", order.Generation, all.Current),
			"add --rollback to go back; docs/upgrading.md says what that does")
	}
	if !slices.Contains(all.Seen, order.Generation) {
		return advice.With(fmt.Errorf("no worker of generation %d has polled", order.Generation), "start its workers; see `starter workers list`")
	}
	missing, err := o.missingQueues(ctx, order.Generation)
	if err == nil && len(missing) > 0 {
		err = advice.With(&MissingQueuesError{order.Generation, missing},
			"start its workers for all queues: a generation takes over as a whole; see `starter workers list`")
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
func (o *Operator) missingQueues(ctx context.Context, generation int) (missing []string, err error) {
	for _, queue := range queuesOf(o.Launcher.Prefix) {
		workers, err := launch.WorkersOf(ctx, o.Launcher.Client, o.Launcher.Namespace, queue)
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

// NotPromotedError means that a starting worker does not promote its generation.
type NotPromotedError struct{ why string }

func (e *NotPromotedError) Error() string { return e.why }

// permitAtStart refuses a promotion by a starting worker that would replace a newer generation or
// an operator's decision.
func permitAtStart(generation int, all launch.Generations) error {
	switch {
	case all.Current > generation:
		return &NotPromotedError{fmt.Sprintf("generation %d is current, and %d is older", all.Current, generation)}
	case all.Ramping > 0:
		return &NotPromotedError{fmt.Sprintf("an operator ramps generation %d: `starter workers promote` promotes %d", all.Ramping, generation)}
	case slices.Contains(all.Activated, generation):
		return &NotPromotedError{fmt.Sprintf("generation %d had tasks before, and an operator went back to %d: `starter workers promote` "+
			"promotes it again",
			generation, all.Current)}
	default:
		return nil
	}
}
