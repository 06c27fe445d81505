package event

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// FinishEvent marks an event as ended in processed_event and counts its deliveries by
// status. If the event did not succeed, it first cancels PENDING deliveries, since no
// workflow is left to send them; see [Store.cancelPending]. If the event succeeded and
// deliveries are still PENDING, its outcome is INCOMPLETE, unless an operator retries them.
// Otherwise an event that notified people and has a problem has the outcome PROBLEM. A repeat
// does no harm. If end.First is set and another end is recorded, the error is
// [notification.ErrEnded].
func (s Store) FinishEvent(ctx context.Context, end notification.EventEnd) (notification.Counts, error) {
	const mark = `
		INSERT INTO processed_event (event_id, status, outcome, problem)
		VALUES ($1,
		        CASE WHEN $2 THEN 'SUCCESS' ELSE 'FAILED' END,
		        CASE WHEN $2 AND EXISTS (
		                 SELECT
		                 FROM   notification n
		                 WHERE  n.event_id = $1
		                 AND    ` + db.Undelivered + `
		                 AND    n.status = (SELECT 'PENDING') -- keeps the planner on the index of that event
		                 AND    NOT ` + db.Retried + `) THEN 'INCOMPLETE'
		             WHEN $3 <> '' THEN $3
		             WHEN $4 <> '' THEN 'PROBLEM' END,
		        nullif($4, ''))
		ON CONFLICT (event_id) DO UPDATE
		SET    status     = excluded.status,
		       -- On a repeat, an operator retries the deliveries that
		       -- are PENDING by now.
		       outcome    = CASE WHEN processed_event.status = 'SUCCESS' AND excluded.outcome = 'INCOMPLETE' THEN processed_event.outcome
		           ELSE excluded.outcome END,
		       problem    = excluded.problem,
		       updated_at = now()
		WHERE  processed_event.status = 'PROCESSING'
		OR     NOT $5
		RETURNING coalesce(outcome, '')`
	const byDecision = `
		SELECT c.value, count(*)
		FROM   notification_decision d, jsonb_each_text(d.channels) c
		WHERE  d.event_id = $1
		GROUP BY c.value`

	counts := notification.Counts{Deliveries: map[notification.Status]int{}, Decisions: map[notification.Decision]int{}}
	if !end.Success {
		reason := notification.CancelledInTemporal
		if end.Outcome == notification.EventFailed {
			reason = notification.EventHasFailed
		}
		if err := s.cancelPending(ctx, end.EventID, reason); err != nil {
			return counts, db.Wrap(err, "finish event")
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(mark, end.EventID, end.Success, end.Outcome, end.Problem, end.First).QueryRow(func(row pgx.Row) error {
		return row.Scan(&counts.Outcome)
	})
	db.QueueCounts(batch, counts.Deliveries, countByStatus, end.EventID)
	db.QueueCounts(batch, counts.Decisions, byDecision, end.EventID)
	err := s.Pool.SendBatch(ctx, batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		err = notification.ErrEnded
	}
	return counts, db.Wrap(err, "finish event")
}

// Acknowledge records that RabbitMQ has the message of an event. A repeat changes nothing.
func (s Store) Acknowledge(ctx context.Context, eventID string) error {
	const query = `
		UPDATE event_outbox
		SET    acknowledged_at = now()
		WHERE  event_id = $1
		AND    acknowledged_at IS NULL`

	return s.Exec(ctx, "acknowledge event", query, eventID)
}

// countByStatus counts an event's deliveries. The planner cannot see their number, and
// keeps its plan.
const countByStatus = `
		SELECT status, count(*)
		FROM   notification
		WHERE  event_id = (SELECT $1::text)
		GROUP BY status`
