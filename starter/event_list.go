package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres/report"
)

// eventStatuses are those of event_outbox.
func eventStatuses() []string { return []string{"PENDING", "PROCESSED", "FAILED"} }

// eventFilter is the flags that say which events are meant.
type eventFilter struct {
	wanted    report.EventFilter
	aggregate entityFlag
	since     console.PastTime
}

func (a *app) listEventsCommand() *cobra.Command {
	var f eventFilter
	var limit console.Limit
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest events, the newest first",
		Example: `  starter event list
  starter event list --status failed --since 24h
  starter event list --type RESERVATION_REQUESTED --aggregate RESTAURANT/5 -o json`,
		Args: cobra.NoArgs,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.listEvents(ctx, f, int(limit))
		}),
	}
	flags := cmd.Flags()
	console.WordFlag(cmd, &f.wanted.Status, "status", eventStatuses(), "only this status in the outbox")
	flags.StringVar(&f.wanted.Type, "type", "", "only this event type")
	flags.Var(&f.aggregate, "aggregate", "only those of this aggregate: RESTAURANT/5")
	flags.StringVar(&f.wanted.CorrelationID, "correlation-id", "", "only those with this correlation id")
	flags.Var(&f.since, "since", "only those written since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	console.LimitFlag(flags, &limit)
	return cmd
}

// eventList is what `starter event list` prints.
type eventList struct {
	Events []report.EventRow `json:"events"`
	More   bool              `json:"more"` // there are others behind these
}

func (a *app) listEvents(ctx context.Context, f eventFilter, limit int) error {
	filter := f.wanted
	filter.Aggregate, filter.Since = f.aggregate.entity, f.since.Time
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	events, err := report.Reader{Pool: db.Pool}.LatestEvents(ctx, filter, limit+1)
	if err != nil {
		return err
	}
	list := eventList{Events: events[:min(limit, len(events))], More: len(events) > limit}
	return a.Print(list, func(w io.Writer) { printEvents(w, list) })
}

func printEvents(w io.Writer, list eventList) {
	if len(list.Events) == 0 {
		console.Row(w, "no events")
		return
	}
	l := console.Listing{Header: []string{"EVENT", "TYPE", "AGGREGATE", "OUTBOX", "WORKFLOW", "CREATED", "ERROR"}}
	for _, e := range list.Events {
		l.Add(e.EventID, e.EventType, e.AggregateType+"/"+e.AggregateID, e.Status, console.Dash(e.ProcessedStatus),
			console.Seconds(e.CreatedAt), console.Dash(e.ErrorMessage))
	}
	l.Print(w)
	console.PrintMore(w, list.More)
}
