package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// RetryFilter selects the events to retry. The zero value selects all failed events.
type RetryFilter struct {
	Outcome   notification.EventOutcome // events with this outcome; empty: failed events
	EventType string
	Source    string
	Since     time.Time // earliest time of writing
	Until     time.Time // latest time of writing
}

// failedEvents reads up to @limit events after @after that failed at their start or later, or that
// their topic refused. The column meant reports whether the [RetryFilter]
// selects the event. An event that an operator withdrew did not fail. Each half reads an
// index of failed rows in order, and no condition of the filter makes it read more.
const failedEvents = `
	SELECT event_id, bool_or(meant) AS meant
	FROM   ((
		SELECT n.event_id, n.withdrawn_at IS NULL AND ` + eventMeant + `
		       AND coalesce((SELECT p.status FROM processed_event p WHERE p.event_id = n.event_id), 'PROCESSING') = 'PROCESSING' AS meant
		FROM   event_outbox n
		WHERE  n.status = 'FAILED'
		AND    n.event_id > @after
		ORDER BY n.event_id
		LIMIT  @limit
	) UNION ALL (
		SELECT p.event_id, (SELECT ` + eventMeant + ` FROM event_outbox n WHERE n.event_id = p.event_id)
		FROM   processed_event p
		WHERE  p.status = 'FAILED'
		AND    p.event_id > @after
		ORDER BY p.event_id
		LIMIT  @limit
	)) f
	GROUP BY event_id
	ORDER BY event_id
	LIMIT  @limit`

// eventsWithOutcome is like failedEvents, for events with the outcome @outcome.
const eventsWithOutcome = `
	SELECT event_id, (SELECT ` + eventMeant + ` FROM event_outbox n WHERE n.event_id = p.event_id) AS meant
	FROM   processed_event p
	WHERE  p.outcome = @outcome
	AND    p.event_id > @after
	ORDER BY p.event_id
	LIMIT  @limit`

// eventMeant leaves out an event that another event cancels: a retry would send nothing.
const eventMeant = `(@type::text IS NULL OR n.event_type = @type)
		       AND (@since::timestamptz IS NULL OR n.created_at >= @since)
		       AND (@until::timestamptz IS NULL OR n.created_at <= @until)
		       AND (@source::text IS NULL OR n.source = @source)
		       AND ` + db.Canceller + ` IS NULL`

// retryPageSize is the number of events that one query reads, in each half. It takes a few
// milliseconds, and tens of them if the rows come from disk.
const retryPageSize = 200

// CountEventsToRetry counts the events that filter selects, page by page. One statement for
// all events could time out.
func (s Store) CountEventsToRetry(ctx context.Context, filter RetryFilter) (count int, err error) {
	for after, more := "", true; more; {
		var ids []string
		if ids, after, more, err = s.retryPage(ctx, filter, after); err != nil {
			return 0, err
		}
		count += len(ids)
	}
	return count, nil
}

// EventsToRetry reads the next ids that filter selects: up to limit ids after `after`, in
// order. It reads pages until it finds one.
func (s Store) EventsToRetry(ctx context.Context, filter RetryFilter, after string, limit int) (ids []string, err error) {
	for more := true; more && len(ids) == 0; {
		if ids, after, more, err = s.retryPage(ctx, filter, after); err != nil {
			return nil, err
		}
	}
	return ids[:min(limit, len(ids))], nil
}

// retryPage reads the next page of events. It returns the events that filter selects, the
// last event that it read, and whether more may follow.
func (s Store) retryPage(ctx context.Context, filter RetryFilter, after string) (ids []string, last string, more bool, err error) {
	query := failedEvents
	if filter.Outcome != "" {
		query = eventsWithOutcome
	}
	rows, _ := s.Pool.Query(ctx, query, pgx.NamedArgs{ // ForEachRow returns its error
		"type": db.Optional(filter.EventType), "since": db.Optional(filter.Since), "until": db.Optional(filter.Until),
		"source": db.Optional(filter.Source), "outcome": filter.Outcome, "after": after, "limit": retryPageSize,
	})
	var meant *bool // null: its row in event_outbox was purged
	looked, err := pgx.ForEachRow(rows, []any{&last, &meant}, func() error {
		if meant != nil && *meant {
			ids = append(ids, last)
		}
		return nil
	})
	return ids, last, looked.RowsAffected() == retryPageSize, db.Wrap(err, "read events to retry")
}
