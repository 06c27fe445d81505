package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// FinishEvent marks an event as ended in processed_event and counts what became of
// it. success is false for an event that was cancelled or could not be planned: its
// deliveries that are still PENDING become CANCELLED, since no workflow is left to
// send them. Where an event has succeeded and deliveries are still PENDING, its
// outcome is INCOMPLETE. A repetition does no harm.
func (s *Store) FinishEvent(ctx context.Context, eventID string, success bool, outcome notification.EventOutcome) (notification.Counts, error) {
	const mark = `
		INSERT INTO processed_event (event_id, status, outcome)
		VALUES ($1,
		        CASE WHEN $2 THEN 'SUCCESS' ELSE 'FAILED' END,
		        CASE WHEN $2 AND EXISTS (SELECT FROM notification WHERE event_id = $1 AND status = 'PENDING') THEN 'INCOMPLETE' ELSE nullif($3, '') END)
		ON CONFLICT (event_id) DO UPDATE
		SET    status     = excluded.status,
		       outcome    = excluded.outcome,
		       updated_at = now()
		RETURNING coalesce(outcome, '')`
	const cancel = `
		UPDATE notification
		SET    status = 'CANCELLED',
		       last_error = 'event cancelled'
		WHERE  event_id = $1
		AND    status = 'PENDING'
		AND    NOT $2`
	const byDecision = `
		SELECT c.value, count(*)
		FROM   notification_decision d, jsonb_each_text(d.channels) c
		WHERE  d.event_id = $1
		GROUP BY c.value`

	counts := notification.Counts{Deliveries: map[notification.Status]int{}, Decisions: map[notification.Decision]int{}}
	batch := &pgx.Batch{}
	batch.Queue(cancel, eventID, success)
	batch.Queue(mark, eventID, success, outcome).QueryRow(func(row pgx.Row) error { return row.Scan(&counts.Outcome) })
	queueCounts(batch, counts.Deliveries, countByStatus, eventID)
	queueCounts(batch, counts.Decisions, byDecision, eventID)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return counts, wrap(err, "finish event")
}

// countByStatus counts an event's deliveries.
const countByStatus = `
		SELECT status, count(*)
		FROM   notification
		WHERE  event_id = $1
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
