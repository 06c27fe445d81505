package list

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
)

// EventFilter selects events. A zero field is no condition.
type EventFilter struct {
	Status        notification.OutboxStatus
	Outcome       notification.EventOutcome // of processed_event
	Type          string
	Source        string
	Aggregate     notification.Entity
	CorrelationID string
	Since         time.Time // earliest time of writing
}

// isIndexed reports whether an index has the events that match the filter. Other filters search.
func (f EventFilter) isIndexed() bool {
	isUnfiltered := f.Status == "" && f.Type == "" && f.Source == "" && f.Aggregate == (notification.Entity{})
	isOpen := f.Outcome == "" && (f.Status == notification.OutboxPending || f.Status == notification.OutboxFailed)
	return isUnfiltered || isOpen || f.CorrelationID != ""
}

func (f EventFilter) conditions() conditions {
	return slices.Concat(
		where("e.status = @status", f.Status),
		where("e.event_type = @type", f.Type),
		where("e.source = @source", f.Source),
		where("e.aggregate_type = @aggregate_type", f.Aggregate.Type),
		where("e.aggregate_id = @aggregate_id", f.Aggregate.ID),
		where("e.correlation_id = @correlation_id", f.CorrelationID),
		where("e.created_at >= @since", f.Since),
	)
}

// EventRow is an event in a list: its row of event_outbox, and the state of its workflow.
type EventRow struct {
	EventID string `json:"event_id"`
	report.OutboxRow
	ProcessedStatus notification.ProcessedStatus `json:"processed_status"` // empty: its workflow was not started yet
	Outcome         notification.EventOutcome    `json:"outcome"`          // of processed_event
	Problem         string                       `json:"problem"`          // likewise: the rows of the rules that named nobody
	// Undecided: its workflow has run for a minute without a decision. Planning may fail again and again.
	Undecided bool `json:"undecided"`
}

// latestEvents has the events that were written last first.
var latestEvents = spec[EventRow]{
	doing: "read events",
	columns: `
		e.event_id, coalesce(p.status, '') AS processed_status, coalesce(p.outcome, '') AS outcome, coalesce(p.problem, '') AS problem,
		e.source = 'herald' AND p.status IS NOT DISTINCT FROM 'PROCESSING' AND p.created_at < now() - interval '1 minute'
		-- Without LIMIT, Postgres reads the whole table once
		-- for the few rows of a page.
		AND (SELECT true FROM notification_decision d WHERE d.event_id = e.event_id LIMIT 1) IS NULL AS undecided,
		` + report.OutboxColumns,
	from:  "event_outbox e LEFT JOIN processed_event p USING (event_id)",
	order: order{by: "e.created_at, e.seq", newestFirst: true, table: "event_outbox e", name: "e.event_id", noun: "event"},
	key:   func(e EventRow) string { return e.EventID },
}

// Events reads events that the filter selects, newest first. With an outcome, it reads the events that
// ended last first.
func (r Reader) Events(ctx context.Context, filter EventFilter, from Place) (Page[EventRow], error) {
	events, selected := latestEvents, filter.conditions()
	in := part{within: where("e.created_at >= @since", filter.Since), isIndexed: filter.isIndexed()}
	if filter.Outcome != "" {
		events.order = order{by: "p.updated_at, p.event_id", newestFirst: true, table: "processed_event p", name: "p.event_id", noun: "event"}
		in.within = slices.Concat(where("p.outcome = @outcome", filter.Outcome), where("p.updated_at >= @since", filter.Since))
		selected = slices.Concat(selected, in.within) // an event ends after it was written
		// OFFSET makes Postgres read the events of the outcome first: for a rare type it would read the
		// whole outbox. One correlation id has few events.
		events.from = "processed_event p CROSS JOIN LATERAL (SELECT * FROM event_outbox o WHERE o.event_id = p.event_id OFFSET 0) e"
		if filter.CorrelationID != "" {
			events.from = "processed_event p JOIN event_outbox e USING (event_id)"
		}
	}
	return events.page(ctx, r, selected, in, from)
}
