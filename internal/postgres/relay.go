package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// CountRefusals counts that topics refused events of a source in batch mode, and returns
// how often each was refused by now. However often that is, they were claimed once: they
// are not what ended a poller.
func (s *Store) CountRefusals(ctx context.Context, ids []string) (refusals map[string]int, err error) {
	const query = `
		UPDATE event_outbox
		SET    sink_attempts = sink_attempts + 1,
		       attempt_count = 1
		WHERE  event_id = ANY ($1)
		AND    status = 'PENDING'
		RETURNING event_id, sink_attempts`

	rows, _ := s.Pool.Query(ctx, query, ids) // ForEachRow returns its error
	refusals = map[string]int{}
	var id string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&id, &count}, func() error {
		refusals[id] = count
		return nil
	})
	return refusals, wrap(err, "count refusals")
}

// PostponeEvents has nobody take events before their time, and says why.
func (s *Store) PostponeEvents(ctx context.Context, events []notification.PostponedEvent) error {
	const query = `
		UPDATE event_outbox o
		SET    lease_owner   = 'refused',
		       lease_until   = now() + p.delay,
		       error_message = p.why
		FROM   unnest($1::text[], $2::interval[], $3::text[]) AS p (event_id, delay, why)
		WHERE  o.event_id = p.event_id
		AND    o.status = 'PENDING'`

	var ids, whys []string
	var delays []time.Duration
	for _, event := range events {
		ids, delays, whys = append(ids, event.ID), append(delays, event.Delay), append(whys, event.Why)
	}
	_, err := s.Pool.Exec(ctx, query, ids, delays, whys)
	return wrap(err, "postpone events")
}

// FailRelayed marks an event as FAILED that its topic will never have, and that has no
// workflow. One that does not wait any more stays as it is.
func (s *Store) FailRelayed(ctx context.Context, eventID, why string) error {
	const query = `
		UPDATE event_outbox
		SET    status        = 'FAILED',
		       error_message = $2,
		       lease_owner   = NULL,
		       lease_until   = NULL
		WHERE  event_id = $1
		AND    status = 'PENDING'`

	_, err := s.Pool.Exec(ctx, query, eventID, why)
	return wrap(err, "fail event")
}

// AcknowledgeRelayed records that the topics of events have them that no workflow sent,
// and that these are done.
func (s *Store) AcknowledgeRelayed(ctx context.Context, ids []string) error {
	const query = `
		WITH relayed AS (
			UPDATE event_outbox
			SET    status          = 'PROCESSED',
			       published_at    = now(),
			       acknowledged_at = now(),
			       error_message   = NULL,
			       lease_owner     = NULL,
			       lease_until     = NULL
			WHERE  event_id = ANY ($1)
			AND    acknowledged_at IS NULL
			RETURNING event_id
		)
		INSERT INTO processed_event (event_id, status)
		SELECT event_id, 'SUCCESS'
		FROM   relayed
		ON CONFLICT (event_id) DO UPDATE
		SET    status = 'SUCCESS'`

	_, err := s.Pool.Exec(ctx, query, ids)
	return wrap(err, "acknowledge events")
}
