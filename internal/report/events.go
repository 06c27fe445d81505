package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
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
	switch {
	case f.CorrelationID != "", f.Status == "" && f.Type == "" && f.Source == "" && f.Aggregate == (notification.Entity{}):
		return true
	default:
		return f.Outcome == "" && (f.Status == notification.OutboxPending || f.Status == notification.OutboxFailed)
	}
}

// OutboxRow is a row of event_outbox, without its payload.
type OutboxRow struct {
	EventType     string                    `json:"event_type"`
	AggregateType string                    `json:"aggregate_type"`
	AggregateID   string                    `json:"aggregate_id"`
	CorrelationID string                    `json:"correlation_id"`
	Status        notification.OutboxStatus `json:"status"`
	CreatedAt     time.Time                 `json:"created_at"`
	PublishedAt   *time.Time                `json:"published_at"`
	AttemptCount  int                       `json:"attempt_count"`
	ErrorMessage  string                    `json:"error_message"`
}

// Aggregate returns a name such as RESTAURANT/5; empty: an event of another outbox has
// none.
func (o OutboxRow) Aggregate() string {
	if o.AggregateType == "" && o.AggregateID == "" {
		return ""
	}
	return o.AggregateType + "/" + o.AggregateID
}

// outboxColumns are the columns of [OutboxRow].
const outboxColumns = `
	       e.event_type, coalesce(e.aggregate_type, '') AS aggregate_type, coalesce(e.aggregate_id, '') AS aggregate_id, coalesce(e.correlation_id, '') AS correlation_id, e.status, e.created_at,
	       e.published_at, e.attempt_count, coalesce(e.error_message, '') AS error_message`

// EventRow is an event in a list: its row of event_outbox, and the state of its workflow.
type EventRow struct {
	EventID string `json:"event_id"`
	OutboxRow
	ProcessedStatus notification.ProcessedStatus `json:"processed_status"` // empty: its workflow was not started yet
	Outcome         notification.EventOutcome    `json:"outcome"`          // of processed_event
	Problem         string                       `json:"problem"`          // likewise: the rows of the rules that named nobody
	Undecided       bool                         `json:"undecided"`        // its workflow has run for a minute without a decision: planning may fail again and again
}

// LatestEvents reads the page that follows the event `after`, with up to limit events that the filter selects,
// newest first. With an outcome, it reads the events that ended last.
func (r Reader) LatestEvents(ctx context.Context, filter EventFilter, after string, limit int) (Page[EventRow], error) {
	const columns = `
		SELECT e.event_id, coalesce(p.status, '') AS processed_status, coalesce(p.outcome, '') AS outcome, coalesce(p.problem, '') AS problem,
		       e.source = 'herald' AND p.status IS NOT DISTINCT FROM 'PROCESSING' AND p.created_at < now() - interval '1 minute'
		       -- Without LIMIT, Postgres reads the whole table once
		       -- for the few rows of a page.
		       AND (SELECT true FROM notification_decision d WHERE d.event_id = e.event_id LIMIT 1) IS NULL AS undecided,
		       ` + outboxColumns
	const conditions = `
		WHERE  ($1::text IS NULL OR e.status = $1)
		AND    ($2::text IS NULL OR e.event_type = $2)
		AND    ($3::text IS NULL OR (e.aggregate_type = $3 AND e.aggregate_id = $4))
		AND    ($5::timestamptz IS NULL OR e.created_at >= $5)
		AND    ($6::text IS NULL OR e.correlation_id = $6)
		AND    ($8::text IS NULL OR e.source = $8)`
	const latest = columns + `
		FROM   event_outbox e
		LEFT JOIN processed_event p USING (event_id)` + conditions + `
		AND    ($9::text IS NULL OR (e.created_at, e.seq) < (SELECT b.created_at, b.seq FROM event_outbox b WHERE b.event_id = $9))
		AND    ($10::text IS NULL OR (e.created_at, e.seq) >= (SELECT b.created_at, b.seq FROM event_outbox b WHERE b.event_id = $10))
		ORDER BY e.created_at DESC, e.seq DESC
		LIMIT  $7`
	// One correlation id has few events. Otherwise OFFSET makes Postgres read the events of the
	// outcome first: for a rare type it would read the whole outbox.
	const eventOfEach = `
		FROM   processed_event p
		CROSS JOIN LATERAL (SELECT * FROM event_outbox o WHERE o.event_id = p.event_id OFFSET 0) e`
	const eventsOfCorrelation = `
		FROM   processed_event p
		JOIN   event_outbox e USING (event_id)`
	const ofOutcome = conditions + `
		AND    ($5::timestamptz IS NULL OR p.updated_at >= $5) -- an event ends after it was written
		AND    p.outcome = $10
		AND    ($9::text IS NULL OR (p.updated_at, p.event_id) < (SELECT b.updated_at, b.event_id FROM processed_event b WHERE b.event_id = $9))
		AND    ($11::text IS NULL OR (p.updated_at, p.event_id) >= (SELECT b.updated_at, b.event_id FROM processed_event b WHERE b.event_id = $11))
		ORDER BY p.updated_at DESC, p.event_id DESC
		LIMIT  $7`

	through, err := r.lastSearched(ctx, filter, after)
	if err != nil {
		return Page[EventRow]{}, err
	}
	query, params := latest, []any{
		plannedForItsFilter,
		db.Optional(filter.Status), db.Optional(filter.Type), db.Optional(filter.Aggregate.Type), filter.Aggregate.ID,
		db.Optional(filter.Since), db.Optional(filter.CorrelationID), limit + 1, db.Optional(filter.Source), db.Optional(after),
	}
	if filter.Outcome != "" {
		query, params = columns+eventOfEach+ofOutcome, append(params, filter.Outcome)
		if filter.CorrelationID != "" {
			query = columns + eventsOfCorrelation + ofOutcome
		}
	}
	params = append(params, db.Optional(through))
	rows, err := db.Collect(ctx, r.Pool, "read events", pgx.RowToStructByName[EventRow], query, params...)
	return searchedPage(rows, limit, func(e EventRow) string { return e.EventID }, through), err
}

// lastSearched returns the last event that a page searches; empty: it reads all events that match the
// filter.
func (r Reader) lastSearched(ctx context.Context, filter EventFilter, after string) (string, error) {
	const latest = `
		SELECT event_id
		FROM   event_outbox
		WHERE  (created_at, seq) = (
			SELECT e.created_at, e.seq
			FROM   event_outbox e
			WHERE  ($1::text IS NULL OR (e.created_at, e.seq) < (SELECT b.created_at, b.seq FROM event_outbox b WHERE b.event_id = $1))
			AND    ($2::timestamptz IS NULL OR e.created_at >= $2)
			ORDER BY e.created_at DESC, e.seq DESC
			OFFSET $3
			LIMIT  1)`
	const ofOutcome = `
		SELECT p.event_id
		FROM   processed_event p
		WHERE  p.outcome = $4
		AND    ($1::text IS NULL OR (p.updated_at, p.event_id) < (SELECT b.updated_at, b.event_id FROM processed_event b WHERE b.event_id = $1))
		AND    ($2::timestamptz IS NULL OR p.updated_at >= $2)
		ORDER BY p.updated_at DESC, p.event_id DESC
		OFFSET $3
		LIMIT  1`

	table, query, params := "event_outbox", latest, []any{plannedForItsFilter, db.Optional(after), db.Optional(filter.Since), r.searched() - 1}
	if filter.Outcome != "" {
		table, query, params = "processed_event", ofOutcome, append(params, filter.Outcome)
	}
	if err := r.require(ctx, "SELECT FROM "+table+" WHERE event_id", after); err != nil || filter.isIndexed() {
		return "", err
	}
	id, err := db.One(ctx, r.Pool, "read the last event to search", pgx.RowTo[string], query, params...)
	return id, db.IgnoreNoRows(err)
}

// EventIDs reads event ids that begin with prefix, newest first: up to limit ids of the
// last 1,000 events.
func (r Reader) EventIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT event_id
		FROM   (SELECT event_id, created_at, seq FROM event_outbox ORDER BY created_at DESC, seq DESC LIMIT 1000) e
		WHERE  starts_with(event_id, $1)
		ORDER BY created_at DESC, seq DESC
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read event ids", pgx.RowTo[string], query, prefix, limit)
}

// EventTypes reads the configured event types that begin with prefix, up to limit.
func (r Reader) EventTypes(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT event_type
		FROM   (SELECT event_type FROM event_type_channel_routing
		        UNION
		        SELECT event_type FROM event_type_recipients
		        UNION
		        SELECT event_type FROM notification_template WHERE event_type NOT IN ('*', 'digest') AND event_type NOT LIKE '%.digest') t
		WHERE  starts_with(event_type, $1)
		ORDER BY event_type
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read event types", pgx.RowTo[string], query, prefix, limit)
}
