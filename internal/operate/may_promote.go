package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/workflows"
)

// permit refuses what would leave tasks without a worker, or go back unasked.
func (p *promotion) permit(ctx context.Context, order Promotion, generations launch.Generations) error {
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

// MissingQueuesError says that a generation has no workers for task queues that others serve.
type MissingQueuesError struct {
	Generation int
	Queues     []string
}

func (e *MissingQueuesError) Error() string {
	return fmt.Sprintf("no worker of generation %d polls %s, which other workers serve", e.Generation, strings.Join(e.Queues, ", "))
}

// missingQueues are the task queues that workers of other generations serve, and none of
// this one.
func (p *promotion) missingQueues(ctx context.Context, generation int) (missing []string, err error) {
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

// queuesOf are the task queues of an installation's workflows.
func queuesOf(prefix string) []string {
	queues := []string{workflows.EventsQueue(prefix)}
	for _, channel := range notification.Channels() {
		queues = append(queues, workflows.ChannelQueue(prefix, channel))
	}
	return queues
}

// AtStart decides what a worker of a generation does about promotion when it starts. why says
// why it leaves the current generation as it is; empty: it promotes its own.
func (o *Operator) AtStart(ctx context.Context, generation int) (why string, err error) {
	generations, err := o.Launcher.Generations(ctx)
	if err != nil {
		return "", err
	}
	if generations.Current > generation {
		return fmt.Sprintf("generation %d is current, and %d is older", generations.Current, generation), nil
	}
	last, err := o.Store.LastPromotion(ctx)
	if err != nil {
		return "", err
	}
	if rolledBack(last, generation) {
		return fmt.Sprintf("an operator went back from generation %d to %d: `starter workers promote` promotes it again", last.From, last.Generation), nil
	}
	return "", nil
}

// rolledBack reports whether operators went back from a generation, or a newer one.
func rolledBack(last postgres.Promotion, generation int) bool {
	return last.Generation < generation && generation <= last.From
}
