package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// SinkState reads how far an event has come on its way to its topic.
func (s *Store) SinkState(ctx context.Context, eventID string) (notification.SinkState, error) {
	const query = `
		SELECT acknowledged_at IS NOT NULL, CASE status WHEN 'FAILED' THEN coalesce(error_message, '') ELSE '' END
		FROM   event_outbox
		WHERE  event_id = $1`

	var state notification.SinkState
	err := s.Pool.QueryRow(ctx, query, eventID).Scan(&state.Acknowledged, &state.Failed)
	if errors.Is(err, pgx.ErrNoRows) {
		return state, notification.ErrNoEvent
	}
	return state, wrap(err, "read event")
}

// CountRefusal counts that the broker of a topic refused an event, and returns how often
// it has by now.
func (s *Store) CountRefusal(ctx context.Context, eventID string) (refusals int, err error) {
	const query = `
		UPDATE event_outbox
		SET    sink_attempts = sink_attempts + 1
		WHERE  event_id = $1
		RETURNING sink_attempts`

	err = s.Pool.QueryRow(ctx, query, eventID).Scan(&refusals)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, notification.ErrNoEvent
	}
	return refusals, wrap(err, "count refusal")
}

// FailAtSink marks an event as FAILED that its topic will never have. One that it has
// stays as it is. The claim that started it may not have ended: its lease goes, so that
// it ends nothing; that its workflow runs is recorded here.
func (s *Store) FailAtSink(ctx context.Context, eventID, why string) error {
	const query = `
		WITH failed AS (
			UPDATE event_outbox
			SET    status        = 'FAILED',
			       published_at  = NULL,
			       error_message = $2,
			       lease_owner   = NULL,
			       lease_until   = NULL
			WHERE  event_id = $1
			AND    acknowledged_at IS NULL
			RETURNING event_id
		)
		INSERT INTO processed_event (event_id)
		SELECT event_id
		FROM   failed
		ON CONFLICT DO NOTHING`

	_, err := s.Pool.Exec(ctx, query, eventID, why)
	return wrap(err, "fail event at its topic")
}

// ReopenAtSink begins an event anew that its topic has refused for good, and whose workflow
// runs. A repetition does no harm.
func (s *Store) ReopenAtSink(ctx context.Context, eventID string) error {
	const query = `
		UPDATE event_outbox
		SET    status        = 'PROCESSED',
		       published_at  = now(),
		       error_message = NULL,
		       sink_attempts = 0
		WHERE  event_id = $1
		AND    status = 'FAILED'
		AND    acknowledged_at IS NULL`

	_, err := s.Pool.Exec(ctx, query, eventID)
	return wrap(err, "begin event anew at its topic")
}
