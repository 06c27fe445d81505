package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// FailedEventFilter says which of the failed events are meant. The zero value
// means all of them.
type FailedEventFilter struct {
	EventType string
	Since     time.Time // when written, at the earliest
	Until     time.Time // when written, at the latest
}

// failedEvents reads up to $6 events behind $5 that could not be started or failed
// after that, and whether a [FailedEventFilter] means each; its parameters are $1 to
// $4. An event that an operator withdrew did not fail. Each half is read by an index
// of failed rows, in its order, and no condition of the filter makes it read more.
const failedEvents = `
	SELECT event_id, bool_or(meant) AS meant
	FROM   ((
		SELECT o.event_id, o.error_message <> $4 AND ` + eventMeant + `
		       AND (SELECT true FROM processed_event p WHERE p.event_id = o.event_id) IS NULL AS meant
		FROM   event_outbox o
		WHERE  o.status = 'FAILED'
		AND    o.event_id > $5
		ORDER BY o.event_id
		LIMIT  $6
	) UNION ALL (
		SELECT p.event_id, (SELECT ` + eventMeant + ` FROM event_outbox o WHERE o.event_id = p.event_id)
		FROM   processed_event p
		WHERE  p.status = 'FAILED'
		AND    p.event_id > $5
		ORDER BY p.event_id
		LIMIT  $6
	)) f
	GROUP BY event_id
	ORDER BY event_id
	LIMIT  $6`

const eventMeant = `($1::text IS NULL OR o.event_type = $1)
		       AND ($2::timestamptz IS NULL OR o.created_at >= $2)
		       AND ($3::timestamptz IS NULL OR o.created_at <= $3)`

// failedAtOnce is how many failed events of each half one query looks at. It takes a
// few milliseconds, and tens of them if the rows come from disk.
const failedAtOnce = 200

// CountFailedEvents counts the failed events that filter names, page by page: one
// statement for all of them could run into its time-out.
func (s *Store) CountFailedEvents(ctx context.Context, filter FailedEventFilter) (count int, err error) {
	for after, more := "", true; more; {
		var ids []string
		if ids, after, more, err = s.failedPage(ctx, filter, after); err != nil {
			return 0, err
		}
		count += len(ids)
	}
	return count, nil
}

// FailedEvents reads the ids of the next failed events that filter names: up to
// limit of those behind after, in their order. It looks on until it has found one.
func (s *Store) FailedEvents(ctx context.Context, filter FailedEventFilter, after string, limit int) (ids []string, err error) {
	for more := true; more && len(ids) == 0; {
		if ids, after, more, err = s.failedPage(ctx, filter, after); err != nil {
			return nil, err
		}
	}
	return ids[:min(limit, len(ids))], nil
}

// failedPage looks at the next failed events, and returns those that filter
// names, the last one that it looked at, and whether there may be more behind it.
func (s *Store) failedPage(ctx context.Context, filter FailedEventFilter, after string) (ids []string, last string, more bool, err error) {
	rows, _ := s.Pool.Query(ctx, failedEvents, optional(filter.EventType), optional(filter.Since), optional(filter.Until),
		CancelledByOperator, after, failedAtOnce) // ForEachRow returns its error
	var meant *bool // null: its row in event_outbox was purged
	looked, err := pgx.ForEachRow(rows, []any{&last, &meant}, func() error {
		if meant != nil && *meant {
			ids = append(ids, last)
		}
		return nil
	})
	return ids, last, looked.RowsAffected() == failedAtOnce, wrap(err, "read failed events")
}

// optional is null for a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
