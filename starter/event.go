package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/event"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/terminal"
)

func eventCommand(a *app) *cobra.Command {
	return group("event", "List, show, simulate, approve, cancel, retry and publish events",
		listEventsCommand(a), showEventCommand(a), cancelEventCommand(a), retryEventCommand(a), simulateEventCommand(a), approveEventCommand(a),
		rejectEventCommand(a), publishEventsCommand(a))
}

func listEventsCommand(a *app) *cobra.Command {
	var filter list.EventFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest events, the newest first",
		Long: `List the latest events, the newest first. With most filters, one call searches 100,000
events. If rows remain, it prints the ID for --after, which continues the search.`,
		Example: `  starter event list
  starter event list --status failed --since 24h
  starter event list --outcome no_recipients
  starter event list --source orders --status failed
  starter event list --type RESERVATION_REQUESTED --aggregate RESTAURANT/5 -o json`,
	}
	flags := cmd.Flags()
	terminal.WordFlag(cmd, &filter.Status, "status",
		[]notification.OutboxStatus{notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed},
		"only this status in the outbox")
	terminal.WordFlag(cmd, &filter.Outcome, "outcome", notification.EventOutcomes(), "only events with this outcome, the latest to end first")
	eventTypeFlag(a, cmd, &filter.Type, "type", "only this event type")
	sourceFlag(a, cmd, &filter.Source, "only events of this source")
	entityFlag(flags, &filter.Aggregate, "aggregate", "only events of this aggregate: RESTAURANT/5")
	flags.StringVar(&filter.CorrelationID, "correlation-id", "", "only events with this correlation id")
	terminal.TimeFlag(flags, &filter.Since, "since", "only events written since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	return listCommand(a, cmd, listing[list.EventRow]{
		name: "events", none: "no events",
		header: []string{"EVENT", "TYPE", "AGGREGATE", "OUTBOX", "WORKFLOW", "OUTCOME", "CREATED", "ERROR"},
		cells: func(e list.EventRow) []string {
			return []string{e.EventID, e.EventType, terminal.Dash(e.Aggregate()), string(e.Status), terminal.Dash(string(e.ProcessedStatus)),
				terminal.Dash(string(e.Outcome)),
				terminal.Clock(&e.CreatedAt), terminal.Dash(cmp.Or(e.ErrorMessage, e.Problem, undecided(e)))}
		},
		read: func(ctx context.Context, db *db.DB, _ []string, from list.Place) (list.Page[list.EventRow], error) {
			return list.Reader{Pool: db.Pool}.Events(ctx, filter, from)
		},
		pages: true,
	})
}

// undecided returns a hint to `starter event show` for an event that is not planned yet, because
// only Temporal knows whether and why its workflow keeps failing. Else it returns "".
func undecided(e list.EventRow) string {
	if !e.Undecided {
		return ""
	}
	return "not planned yet, see `starter event show`"
}

func cancelEventCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel events and their unsent deliveries",
		Long: `Cancel events and their unsent deliveries. Sent deliveries stay sent, and the answer
counts them. An event that was not started yet starts only if somebody retries it. More
than 100 at once need --yes.`,
		Example: "  starter event cancel evt-1",
	}
	return a.verbCommand(cmd, verbCommand{ids: completeEvents(a), verb: always(operate.CancelEvent())})
}

func approveEventCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve ID...",
		Short: "Approve events that wait for approval",
		Long: `Approve events that wait for approval: their types have a row in event_type_approval, and
they would tell more people than this row allows. ` + "`starter event show`" + ` has the counts and
some texts. The person who ran ` + "`starter emit`" + ` cannot approve it. The first answer counts.`,
		Example: "  starter event approve evt-1 --reason 'seen by legal'",
	}
	return a.verbCommand(cmd, verbCommand{ids: completeEvents(a), verb: always(operate.ApproveEvent())})
}

func rejectEventCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reject ID...",
		Short:   "Reject events that wait for approval",
		Long:    "Reject events that wait for approval. They tell nobody. The first answer counts.",
		Example: "  starter event reject evt-1 --reason 'wrong price'",
	}
	return a.verbCommand(cmd, verbCommand{ids: completeEvents(a), verb: always(operate.RejectEvent())})
}

func retryEventCommand(a *app) *cobra.Command {
	var all bool
	var filter event.RetryFilter
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Start failed or cancelled events again, and plan again the events that told nobody",
		Long: `Put events back into the outbox, so that a poller starts them again. It accepts events
that could not be started or were cancelled, or whose workflow failed or was terminated. Events
with the outcome NO_RECIPIENTS, NO_ROUTING or PROBLEM are planned again at once, by the
current rules and directory. An event that its topic refused while deliveries wait is
sent to the topic again.

Decisions about recipients stay. Sent deliveries stay sent, and cancelled deliveries stay
cancelled. Failed deliveries are retried, except ` + terminal.Join(bestEffortChannels()) + `, which get one
attempt: ` + "`starter delivery retry`" + ` retries them. --all-failed does not include
events that an operator cancelled: name them. An event that another event cancels cannot
be retried. More than 100 at once need --yes.`,
		Example: `  starter event retry evt-1
  starter event retry --all-failed --type RESERVATION_REQUESTED --since 24h --dry-run
  starter event retry --all-failed --yes
  starter event retry --all-failed --source orders --dry-run
  starter event retry --outcome no_routing --type RESERVATION_REQUESTED`,
	}
	cmd.Flags().BoolVar(&all, "all-failed", false, "all events that failed")
	terminal.WordFlag(cmd, &filter.Outcome, "outcome", notification.MendableOutcomes(), "all events with this outcome")
	eventTypeFlag(a, cmd, &filter.EventType, "type", "with --all-failed or --outcome: only this event type")
	sourceFlag(a, cmd, &filter.Source, "with --all-failed or --outcome: only events of this source")
	terminal.TimeFlag(cmd.Flags(), &filter.Since, "since",
		"with --all-failed or --outcome: only events written since: an age (24h, 7d) or a time")
	filtered := func() bool { return all || filter.Outcome != "" }
	var sources []relay.Source
	return a.verbCommand(cmd, verbCommand{
		ids: completeEvents(a), examples: "--all-failed or --outcome", filtered: filtered,
		verb: func([]string, bulkFlags) (_ operate.Verb, err error) {
			switch {
			case all && filter.Outcome != "":
				return operate.Verb{}, misused(errors.New("name --all-failed or --outcome, not both"))
			case !filtered() && filter != (event.RetryFilter{}):
				return operate.Verb{}, misused(errors.New("--type, --source and --since need --all-failed or --outcome"))
			}
			sources, err = sourcesNamed(a, filter.Source)
			return operate.RetryEvent(filtered()), err
		},
		warn: func(ctx context.Context, o *operate.Operator) {
			if pollers, err := operate.RunningPollers(ctx, o.Launcher, sources); err == nil {
				warnOfPollers(&a.Output, pollers)
			}
		},
		selects: func(ctx context.Context, o *operate.Operator, after string) (operate.Selection, error) {
			return o.SelectEventsToRetry(ctx, filter, after)
		},
	})
}

// bestEffortChannels returns the channels that get one attempt.
func bestEffortChannels() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return !c.BestEffort() })
}
