package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// FinishEvent marks an event as ended in processed_event and counts what became of
// it. The deliveries of an event that did not succeed and are still PENDING become
// CANCELLED, since no workflow is left to send them. Where an event has succeeded and
// deliveries are still PENDING, its outcome is INCOMPLETE, unless an operator retries these;
// else, where it told people and has a problem, PROBLEM. A repetition does no harm. Where only the first end was to be
// recorded, and another is, the error is [notification.ErrEnded].
func (s *Store) FinishEvent(ctx context.Context, end notification.EventEnd) (notification.Counts, error) {
	const mark = `
		INSERT INTO processed_event (event_id, status, outcome, problem)
		VALUES ($1,
		        CASE WHEN $2 THEN 'SUCCESS' ELSE 'FAILED' END,
		        CASE WHEN $2 AND EXISTS (
		                 SELECT
		                 FROM   notification n
		                 WHERE  n.event_id = $1
		                 AND    ` + undelivered + `
		                 AND    n.status = (SELECT 'PENDING') -- which keeps the planner to the index of that event
		                 AND    NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)) THEN 'INCOMPLETE'
		             WHEN $3 <> '' THEN $3
		             WHEN $4 <> '' THEN 'PROBLEM' END,
		        nullif($4, ''))
		ON CONFLICT (event_id) DO UPDATE
		SET    status     = excluded.status,
		       -- Of a repetition: what is PENDING by now is retried by an operator.
		       outcome    = CASE WHEN processed_event.status = 'SUCCESS' AND excluded.outcome = 'INCOMPLETE' THEN processed_event.outcome ELSE excluded.outcome END,
		       problem    = excluded.problem,
		       updated_at = now()
		WHERE  processed_event.status = 'PROCESSING'
		OR     NOT $5
		RETURNING coalesce(outcome, '')`
	const cancel = `
		UPDATE notification n
		SET    status = 'CANCELLED',
		       last_error = coalesce(` + cancellation + `, 'event cancelled')
		WHERE  event_id = $1
		AND    status = 'PENDING'`
	const byDecision = `
		SELECT c.value, count(*)
		FROM   notification_decision d, jsonb_each_text(d.channels) c
		WHERE  d.event_id = $1
		GROUP BY c.value`

	counts := notification.Counts{Deliveries: map[notification.Status]int{}, Decisions: map[notification.Decision]int{}}
	batch := &pgx.Batch{}
	if !end.Success {
		batch.Queue(cancel, end.EventID)
	}
	batch.Queue(mark, end.EventID, end.Success, end.Outcome, end.Problem, end.First).QueryRow(func(row pgx.Row) error { return row.Scan(&counts.Outcome) })
	queueCounts(batch, counts.Deliveries, countByStatus, end.EventID)
	queueCounts(batch, counts.Decisions, byDecision, end.EventID)
	err := s.Pool.SendBatch(ctx, batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		err = notification.ErrEnded
	}
	return counts, wrap(err, "finish event")
}

// countByStatus counts an event's deliveries. The planner cannot see how many they are, and
// keeps its plan.
const countByStatus = `
		SELECT status, count(*)
		FROM   notification
		WHERE  event_id = (SELECT $1::text)
		GROUP BY status`

func queueCounts[K ~string](batch *pgx.Batch, into map[K]int, query, eventID string) {
	batch.Queue(query, eventID).Query(func(rows pgx.Rows) error {
		var key K
		var count int
		_, err := pgx.ForEachRow(rows, []any{&key, &count}, func() error {
			into[key] = count
			return nil
		})
		return err
	})
}
