package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

func (a *app) listEventsCommand() *cobra.Command {
	var filter report.EventFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest events, the newest first",
		Example: `  starter event list
  starter event list --status failed --since 24h
  starter event list --outcome no_recipients
  starter event list --source orders --status failed
  starter event list --type RESERVATION_REQUESTED --aggregate RESTAURANT/5 -o json`,
	}
	flags := cmd.Flags()
	console.WordFlag(cmd, &filter.Status, "status", []notification.OutboxStatus{notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed}, "only this status in the outbox")
	console.WordFlag(cmd, &filter.Outcome, "outcome", notification.EventOutcomes(), "only those whose workflow ended so, the latest end first")
	a.eventTypeFlag(cmd, &filter.Type, "type", "only this event type")
	a.sourceFlag(cmd, &filter.Source, "only those of this source")
	entityFlag(flags, &filter.Aggregate, "aggregate", "only those of this aggregate: RESTAURANT/5")
	flags.StringVar(&filter.CorrelationID, "correlation-id", "", "only those with this correlation id")
	console.TimeFlag(flags, &filter.Since, "since", "only those written since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	return listCommand(a, cmd, list[report.EventRow]{
		name: "events", none: "no events",
		header: []string{"EVENT", "TYPE", "AGGREGATE", "OUTBOX", "WORKFLOW", "OUTCOME", "CREATED", "ERROR"},
		cells: func(e report.EventRow) []string {
			return []string{e.EventID, e.EventType, console.Dash(e.Aggregate()), string(e.Status), console.Dash(string(e.ProcessedStatus)), console.Dash(string(e.Outcome)),
				console.Clock(&e.CreatedAt), console.Dash(cmp.Or(e.ErrorMessage, e.Problem, undecided(e)))}
		},
		read: func(ctx context.Context, r report.Reader, limit int) ([]report.EventRow, error) {
			return r.LatestEvents(ctx, filter, limit)
		},
	})
}

// undecided says of an event whose workflow may fail again and again where that is told:
// Temporal alone knows why. Empty: it does not.
func undecided(e report.EventRow) string {
	if !e.Undecided {
		return ""
	}
	return "not planned yet, see `starter event show`"
}
