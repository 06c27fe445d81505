package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
)

// retryFlags are those of `starter event retry`.
type retryFlags struct {
	bulkFlags
	all    bool
	filter postgres.RetryFilter
}

func (a *app) retryEventCommand() *cobra.Command {
	var flags retryFlags
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Begin failed or cancelled events again, and plan those anew that told nobody",
		Long: `Put events back into the outbox, so that a poller starts them again: those that could
not be started, whose workflow failed or was terminated, or that were cancelled. Those
that ended NO_RECIPIENTS, NO_ROUTING or with a PROBLEM are planned anew at once, by the
rules and the directory as they are now. Those that their topic has refused while people
still wait for deliveries are sent to it again. What was decided about a recipient stays.
Deliveries that were sent stay sent, and those that were cancelled stay cancelled.
Those that failed are tried again, except ` + console.Join(bestEffortChannels()) + `, which get one
attempt: ` + "`starter delivery retry`" + ` retries them. --all-failed leaves out events that
an operator cancelled: name them. What another event takes back cannot be retried. More
than 100 at once need --yes.`,
		Example: `  starter event retry evt-1
  starter event retry --all-failed --type RESERVATION_REQUESTED --since 24h --dry-run
  starter event retry --all-failed --yes
  starter event retry --all-failed --source orders --dry-run
  starter event retry --outcome no_routing --type RESERVATION_REQUESTED`,
		Args:              cobra.ArbitraryArgs,
		RunE:              a.within(0, func(ctx context.Context, ids []string) error { return a.retryEvents(ctx, ids, flags) }),
		ValidArgsFunction: a.completeEvents(),
	}
	cmd.Flags().BoolVar(&flags.all, "all-failed", false, "all events that failed")
	console.WordFlag(cmd, &flags.filter.Outcome, "outcome", notification.MendableOutcomes(), "all events that ended so")
	a.eventTypeFlag(cmd, &flags.filter.EventType, "type", "with --all-failed or --outcome: only this event type")
	a.sourceFlag(cmd, &flags.filter.Source, "with --all-failed or --outcome: only those of this source")
	console.TimeFlag(cmd.Flags(), &flags.filter.Since, "since", "with --all-failed or --outcome: only those written since: an age (24h, 7d) or a time")
	flags.register(cmd)
	flags.registerAfter(cmd)
	return cmd
}

// bestEffortChannels are those that get one attempt.
func bestEffortChannels() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return !c.BestEffort() })
}

func (a *app) retryEvents(ctx context.Context, ids []string, flags retryFlags) error {
	bulk := flags.all || flags.filter.Outcome != ""
	verb := operate.RetryEvent(bulk)
	if err := flags.check(verb, "--all-failed or --outcome", ids, bulk); err != nil {
		return err
	}
	if flags.all && flags.filter.Outcome != "" {
		return misused(errors.New("name --all-failed or --outcome, not both"))
	}
	if !bulk && flags.filter != (postgres.RetryFilter{}) {
		return misused(errors.New("--type, --source and --since go with --all-failed or --outcome"))
	}
	sources, err := a.sourcesNamed(flags.filter.Source)
	if err != nil {
		return err
	}
	return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
		if pollers, err := operate.RunningPollers(ctx, o.Launcher, sources); err == nil { // what matters fails by itself
			a.warnOfPollers(pollers)
		}
		if len(ids) > 0 {
			return a.change(ctx, o, verb, operate.SelectIDs(ids), flags.bulkFlags)
		}
		selection, err := o.SelectEventsToRetry(ctx, flags.filter, flags.after)
		if err != nil {
			return err
		}
		return a.change(ctx, o, verb, selection, flags.bulkFlags)
	})
}
