package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/postgres"
)

// defaultListed and maxListed bound what the lists read and print.
const (
	defaultListed = 50
	maxListed     = 1000
)

// eventStatuses are those of event_outbox.
func eventStatuses() []string { return []string{"PENDING", "PROCESSED", "FAILED"} }

// eventFilter is the flags that say which events are meant.
type eventFilter struct {
	status, eventType, aggregate, correlationID, since string
}

func (a *app) listEventsCommand() *cobra.Command {
	var f eventFilter
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest events, the newest first",
		Example: `  starter event list
  starter event list --status failed --since 24h
  starter event list --type RESERVATION_REQUESTED --aggregate RESTAURANT/5 -o json`,
		Args: cobra.NoArgs,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.listEvents(ctx, f, limit)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "only this status in the outbox: "+words(eventStatuses()))
	flags.StringVar(&f.eventType, "type", "", "only this event type")
	flags.StringVar(&f.aggregate, "aggregate", "", "only those of this aggregate: RESTAURANT/5")
	flags.StringVar(&f.correlationID, "correlation-id", "", "only those with this correlation id")
	flags.StringVar(&f.since, "since", "", "only those written since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	registerLimit(cmd, &limit)
	completeWords(cmd, "status", eventStatuses())
	return cmd
}

func registerLimit(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", defaultListed, fmt.Sprintf("how many to list, up to %d", maxListed))
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxListed {
		return misused(fmt.Errorf("--limit must be from 1 to %d", maxListed))
	}
	return nil
}

func (f eventFilter) parse(now time.Time) (postgres.EventFilter, error) {
	filter := postgres.EventFilter{Status: strings.ToUpper(f.status), Type: f.eventType, CorrelationID: f.correlationID}
	if f.status != "" && !slices.Contains(eventStatuses(), filter.Status) {
		return postgres.EventFilter{}, misused(fmt.Errorf("--status: %q is none of %s", f.status, words(eventStatuses())))
	}
	var err error
	if f.aggregate != "" {
		if filter.Aggregate, err = parseEntity("--aggregate", f.aggregate); err != nil {
			return postgres.EventFilter{}, misused(err)
		}
	}
	if filter.Since, err = optionalWhen("--since", f.since, now); err != nil {
		return postgres.EventFilter{}, misused(err)
	}
	return filter, nil
}

// eventList is what `starter event list` prints.
type eventList struct {
	Events []postgres.EventRow `json:"events"`
	More   bool                `json:"more"` // there are others behind these
}

func (a *app) listEvents(ctx context.Context, f eventFilter, limit int) error {
	if err := checkLimit(limit); err != nil {
		return err
	}
	filter, err := f.parse(time.Now())
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	events, err := db.EventList(ctx, filter, limit+1)
	if err != nil {
		return err
	}
	list := eventList{Events: events[:min(limit, len(events))], More: len(events) > limit}
	return a.print(list, func(w io.Writer) { printEvents(w, list) })
}

func printEvents(w io.Writer, list eventList) {
	if len(list.Events) == 0 {
		row(w, "no events")
		return
	}
	l := listing{header: []string{"EVENT", "TYPE", "AGGREGATE", "OUTBOX", "WORKFLOW", "CREATED", "ERROR"}}
	for _, e := range list.Events {
		l.add(e.EventID, e.EventType, e.AggregateType+"/"+e.AggregateID, e.Status, dash(e.ProcessedStatus),
			seconds(e.CreatedAt), dash(e.ErrorMessage))
	}
	l.print(w)
	printMore(w, list.More)
}
