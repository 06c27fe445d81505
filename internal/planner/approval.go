package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// AskApproval stores that an event waits for approval, and returns since when. A repeat changes
// nothing.
func (s Store) AskApproval(ctx context.Context, eventID string) (time.Time, error) {
	const query = `
		WITH waits AS (
			INSERT INTO processed_event (event_id, outcome)
			VALUES ($1, 'AWAITING_APPROVAL')
			ON CONFLICT (event_id) DO UPDATE
			SET    outcome = excluded.outcome
			WHERE  processed_event.status = 'PROCESSING'
		)
		INSERT INTO event_approval AS a (event_id)
		VALUES ($1)
		ON CONFLICT (event_id) DO UPDATE
		SET    asked_at = a.asked_at
		RETURNING asked_at`

	at, err := db.One(ctx, s.Pool, "ask for approval", pgx.RowTo[time.Time], query, eventID)
	return at.UTC(), err
}

// AnswerApproval stores an answer, unless the event was answered before, or who caused it approves it.
// It returns the stored row.
func (s Store) AnswerApproval(ctx context.Context, eventID string, answer notification.Approval) (notification.Approval, error) {
	const query = `
		WITH answered AS (
			UPDATE event_approval a
			SET    answer = $2, answered_by = $3, reason = nullif($4, ''), answered_at = now()
			WHERE  a.event_id = $1
			AND    a.answer IS NULL
			AND    NOT ($2 = 'APPROVED' AND EXISTS (SELECT FROM operator_action o WHERE o.target = $1 AND o.command = 'emit' AND o.actor = $3))
			AND    NOT ($2 = 'APPROVED' AND EXISTS (SELECT FROM event_outbox e WHERE e.event_id = $1 AND e.actor_id = $3))
			RETURNING a.event_id
		)
		UPDATE processed_event p
		SET    outcome = NULL
		FROM   answered
		WHERE  p.event_id = answered.event_id
		AND    p.status = 'PROCESSING'`

	if err := s.Exec(ctx, "answer approval", query, eventID, answer.Answer, answer.AnsweredBy, answer.Reason); err != nil {
		return notification.Approval{}, err
	}
	stored, err := s.readApproval(ctx, eventID)
	return stored, db.NoRowsAs(err, notification.ErrNoEvent)
}

// Approval reads the approval of an event; nil: it needed none.
func (s Store) Approval(ctx context.Context, eventID string) (*notification.Approval, error) {
	stored, err := s.readApproval(ctx, eventID)
	if err != nil {
		return nil, db.IgnoreNoRows(err)
	}
	return &stored, nil
}

func (s Store) readApproval(ctx context.Context, eventID string) (notification.Approval, error) {
	const query = `
		SELECT a.asked_at,
		       coalesce(a.answer, '') AS answer,
		       coalesce(a.answered_by, '') AS answered_by,
		       coalesce(a.reason, '') AS reason,
		       a.answered_at,
		       coalesce((
		           SELECT o.actor
		           FROM   operator_action o
		           WHERE  o.target = a.event_id
		           AND    o.command = 'emit'
		           ORDER BY o.id
		           LIMIT  1), '') AS emitter,
		       coalesce((SELECT e.actor_id FROM event_outbox e WHERE e.event_id = a.event_id), '') AS actor_id
		FROM   event_approval a
		WHERE  a.event_id = $1`

	return db.One(ctx, s.Pool, "read approval", db.ByName[notification.Approval](), query, eventID)
}
