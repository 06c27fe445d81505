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
	Outbox    string // status in event_outbox; empty: the row was purged
	Error     string // error_message; empty: none
	Processed string // status in processed_event; empty: it has no row
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
}

// FailedEvent is an event that failed, and its place in the outbox.
type FailedEvent struct {
	Seq     int64
	EventID string
}

// failedEvents are the rows of a [FailedEventFilter], whose parameters are $1 to
// $3. Those that an operator withdrew did not fail.
const failedEvents = `
	FROM   event_outbox o
	LEFT JOIN processed_event p USING (event_id)
	WHERE  ((o.status = 'FAILED' AND p.event_id IS NULL AND o.error_message <> $3) OR p.status = 'FAILED')
	AND    ($1::text IS NULL OR o.event_type = $1)
	AND    ($2::timestamptz IS NULL OR o.created_at >= $2)`

func (f FailedEventFilter) params(others ...any) []any {
	return append([]any{optional(f.EventType), optional(f.Since), CancelledByOperator}, others...)
}

// CountFailedEvents counts the failed events that filter names, and returns the
// place of the last.
func (s *Store) CountFailedEvents(ctx context.Context, filter FailedEventFilter) (count int, last int64, err error) {
	const query = `
		SELECT count(*), coalesce(max(o.seq), 0)` + failedEvents

	if err := s.Pool.QueryRow(ctx, query, filter.params()...).Scan(&count, &last); err != nil {
		return 0, 0, fmt.Errorf("count failed events: %w", err)
	}
	return count, last, nil
}

// FailedEvents reads the next failed events that filter names: up to limit of
// those behind after, in the order of the outbox.
func (s *Store) FailedEvents(ctx context.Context, filter FailedEventFilter, after int64, limit int) ([]FailedEvent, error) {
	const query = `
		SELECT o.seq, o.event_id` + failedEvents + `
		AND    o.seq > $4
		ORDER BY o.seq
		LIMIT  $5`

	rows, err := s.Pool.Query(ctx, query, filter.params(after, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read failed events: %w", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByName[FailedEvent])
	if err != nil {
		return nil, fmt.Errorf("read failed events: %w", err)
	}
	return events, nil
}
