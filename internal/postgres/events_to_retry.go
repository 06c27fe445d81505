package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// RetryFilter says which events are to be tried again. The zero value means all that
// failed.
type RetryFilter struct {
	Outcome   notification.EventOutcome // those that ended so; empty: those that failed
	EventType string
	Source    string
	Since     time.Time // when written, at the earliest
	Until     time.Time // when written, at the latest
}

// failedEvents reads up to $6 events behind $5 that could not be started or failed
// after that, or that their topic has refused, and whether a [RetryFilter] means each; its parameters are $1 to
// $4. An event that an operator withdrew did not fail. Each half is read by an index
// of failed rows, in its order, and no condition of the filter makes it read more.
const failedEvents = `
	SELECT event_id, bool_or(meant) AS meant
	FROM   ((
		SELECT n.event_id, n.withdrawn_at IS NULL AND ` + eventMeant + `
		       AND coalesce((SELECT p.status FROM processed_event p WHERE p.event_id = n.event_id), 'PROCESSING') = 'PROCESSING' AS meant
		FROM   event_outbox n
		WHERE  n.status = 'FAILED'
		AND    n.event_id > $5
		ORDER BY n.event_id
		LIMIT  $6
	) UNION ALL (
		SELECT p.event_id, (SELECT ` + eventMeant + ` FROM event_outbox n WHERE n.event_id = p.event_id)
		FROM   processed_event p
		WHERE  p.status = 'FAILED'
		AND    p.event_id > $5
		ORDER BY p.event_id
		LIMIT  $6
	)) f
	GROUP BY event_id
	ORDER BY event_id
	LIMIT  $6`

// eventsWithOutcome is like failedEvents, for the events whose outcome is $7.
const eventsWithOutcome = `
	SELECT event_id, (SELECT ` + eventMeant + ` FROM event_outbox n WHERE n.event_id = p.event_id) AS meant
	FROM   processed_event p
	WHERE  p.outcome = $7
	AND    p.event_id > $5
	ORDER BY p.event_id
	LIMIT  $6`

// eventMeant leaves out what another event takes back: nothing brings that to people.
const eventMeant = `($1::text IS NULL OR n.event_type = $1)
		       AND ($2::timestamptz IS NULL OR n.created_at >= $2)
		       AND ($3::timestamptz IS NULL OR n.created_at <= $3)
		       AND ($4::text IS NULL OR n.source = $4)
		       AND ` + canceller + ` IS NULL`

// lookedAtOnce is how many events one query looks at, of each half. It takes a
// few milliseconds, and tens of them if the rows come from disk.
const lookedAtOnce = 200

// CountEventsToRetry counts the events that filter names, page by page: one
// statement for all of them could run into its time-out.
func (s *Store) CountEventsToRetry(ctx context.Context, filter RetryFilter) (count int, err error) {
	for after, more := "", true; more; {
		var ids []string
		if ids, after, more, err = s.retryPage(ctx, filter, after); err != nil {
			return 0, err
		}
		count += len(ids)
	}
	return count, nil
}

// EventsToRetry reads the ids of the next events that filter names: up to
// limit of those behind after, in their order. It looks on until it has found one.
func (s *Store) EventsToRetry(ctx context.Context, filter RetryFilter, after string, limit int) (ids []string, err error) {
	for more := true; more && len(ids) == 0; {
		if ids, after, more, err = s.retryPage(ctx, filter, after); err != nil {
			return nil, err
		}
	}
	return ids[:min(limit, len(ids))], nil
}

// retryPage looks at the next events, and returns those that filter
// names, the last one that it looked at, and whether there may be more behind it.
func (s *Store) retryPage(ctx context.Context, filter RetryFilter, after string) (ids []string, last string, more bool, err error) {
	query, args := failedEvents, []any{optional(filter.EventType), optional(filter.Since), optional(filter.Until), optional(filter.Source), after, lookedAtOnce}
	if filter.Outcome != "" {
		query, args = eventsWithOutcome, append(args, filter.Outcome)
	}
	rows, _ := s.Pool.Query(ctx, query, args...) // ForEachRow returns its error
	var meant *bool                              // null: its row in event_outbox was purged
	looked, err := pgx.ForEachRow(rows, []any{&last, &meant}, func() error {
		if meant != nil && *meant {
			ids = append(ids, last)
		}
		return nil
	})
	return ids, last, looked.RowsAffected() == lookedAtOnce, wrap(err, "read events to retry")
}

// optional is null for a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// utc is zero for null.
func utc(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.UTC()
}
