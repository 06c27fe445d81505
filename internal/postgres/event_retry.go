package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// CancelledByOperator is the error_message of an event that was never started.
const CancelledByOperator = "cancelled by an operator"

// EventState is an event as those who change it have to know it.
type EventState struct {
	Outbox    notification.OutboxStatus
	Error     string // error_message; empty: none
	Processed notification.ProcessedStatus
}

// EventState reads how far an event has come. Where nothing is known of it, the
// error is [notification.ErrNoEvent].
func (s *Store) EventState(ctx context.Context, eventID string) (EventState, error) {
	const query = `
		SELECT coalesce(o.status, ''), coalesce(o.error_message, ''), coalesce(p.status, '')
		FROM   (SELECT * FROM event_outbox WHERE event_id = $1) o
		FULL JOIN (SELECT * FROM processed_event WHERE event_id = $1) p USING (event_id)`

	var state EventState
	err := s.Pool.QueryRow(ctx, query, eventID).Scan(&state.Outbox, &state.Error, &state.Processed)
	if errors.Is(err, pgx.ErrNoRows) {
		return EventState{}, notification.ErrNoEvent
	}
	if err != nil {
		return EventState{}, fmt.Errorf("read event: %w", err)
	}
	return state, nil
}

// RetryEvent puts an event whose workflow does not run back to PENDING and
// forgets that it was processed, in one statement. It says whether there was
// such an event: one that did not succeed, and is not PENDING for its first time.
// Its deliveries that were cancelled lose the time for which they waited: their
// workflows would wait again, only to find them cancelled.
func (s *Store) RetryEvent(ctx context.Context, eventID string) (bool, error) {
	const query = `
		WITH failed AS (
			SELECT o.event_id
			FROM   event_outbox o
			LEFT JOIN processed_event p USING (event_id)
			WHERE  o.event_id = $1
			AND    (p.status IN ('FAILED', 'PROCESSING') OR (p.status IS NULL AND o.status = 'FAILED'))
			FOR UPDATE OF o
		), forgotten AS (
			DELETE FROM processed_event p
			USING  failed f
			WHERE  p.event_id = f.event_id
			AND    p.status <> 'SUCCESS'
		), untimed AS (
			UPDATE notification n
			SET    send_after = NULL
			FROM   failed f
			WHERE  n.event_id = f.event_id
			AND    n.status = 'CANCELLED'
			AND    n.send_after IS NOT NULL
		), retried AS (
			UPDATE event_outbox o
			SET    status        = 'PENDING',
			       attempt_count = 0,
			       error_message = NULL,
			       published_at  = NULL,
			       lease_owner   = NULL,
			       lease_until   = NULL
			FROM   failed f
			WHERE  o.event_id = f.event_id
			RETURNING o.event_id
		)
		SELECT count(*) = 1, pg_notify('event_outbox', '')::text
		FROM   retried`

	var retried bool
	var hint string
	if err := s.Pool.QueryRow(ctx, query, eventID).Scan(&retried, &hint); err != nil {
		return false, fmt.Errorf("retry event: %w", err)
	}
	return retried, nil
}

// WithdrawEvent keeps an event from being started that no poller has claimed,
// and says whether there was such a one. Where it was started before, what waits
// since then is cancelled with it, as [Store.FinishEvent] would have done.
func (s *Store) WithdrawEvent(ctx context.Context, eventID string) (bool, error) {
	const query = `
		WITH withdrawn AS (
			UPDATE event_outbox
			SET    status        = 'FAILED',
			       error_message = $2,
			       lease_owner   = NULL,
			       lease_until   = NULL
			WHERE  event_id = $1
			AND    status = 'PENDING'
			AND    (lease_until IS NULL OR lease_until < now())
			RETURNING event_id
		), cancelled AS (
			UPDATE notification n
			SET    status     = 'CANCELLED',
			       last_error = 'event cancelled'
			FROM   withdrawn w
			WHERE  n.event_id = w.event_id
			AND    n.status = 'PENDING'
		)
		SELECT count(*) = 1 FROM withdrawn`

	var withdrawn bool
	if err := s.Pool.QueryRow(ctx, query, eventID, CancelledByOperator).Scan(&withdrawn); err != nil {
		return false, fmt.Errorf("withdraw event: %w", err)
	}
	return withdrawn, nil
}

// EventCounts counts an event's deliveries by status.
func (s *Store) EventCounts(ctx context.Context, eventID string) (map[notification.Status]int, error) {
	const query = `
		SELECT status, count(*)
		FROM   notification
		WHERE  event_id = $1
		GROUP BY status`

	counts := map[notification.Status]int{}
	batch := &pgx.Batch{}
	queueCounts(batch, counts, query, eventID)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("count deliveries of event: %w", err)
	}
	return counts, nil
}

// FailedEventFilter says which of the failed events are meant. The zero value
// means all of them.
type FailedEventFilter struct {
	EventType string
	Since     time.Time // when written, at the earliest
	Until     time.Time // when written, at the latest
}

// failedEvents are the events behind $5, up to $6 of them, that could not be
// started or have failed after that, and whether each is meant by a
// [FailedEventFilter], whose parameters are $1 to $4. Those that an operator
// withdrew did not fail. Each half is read by an index of what failed, in its
// order: no condition of the filter is a reason to read more of it.
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

// failedAtOnce is how many failed events of each half one query looks at: a few
// milliseconds, and tens of them where their rows have to be fetched from disk.
const failedAtOnce = 200

// CountFailedEvents counts the failed events that filter names, page by page: one
// statement for many of them could take longer than any is given.
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
	rows, err := s.Pool.Query(ctx, failedEvents, optional(filter.EventType), optional(filter.Since), optional(filter.Until),
		CancelledByOperator, after, failedAtOnce)
	if err != nil {
		return nil, "", false, fmt.Errorf("read failed events: %w", err)
	}
	var meant *bool // null: its row in event_outbox was purged
	looked, err := pgx.ForEachRow(rows, []any{&last, &meant}, func() error {
		if meant != nil && *meant {
			ids = append(ids, last)
		}
		return nil
	})
	if err != nil {
		return nil, "", false, fmt.Errorf("read failed events: %w", err)
	}
	return ids, last, looked.RowsAffected() == failedAtOnce, nil
}

// optional is null for a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
