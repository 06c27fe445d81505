package postgres

import (
	"context"

	"herald/internal/notification"
)

// MostCounted bounds what one look at the outbox costs the database.
const MostCounted = 100_000

// OutboxState reads how far behind the outbox is.
func (s *Store) OutboxState(ctx context.Context) (notification.OutboxState, error) {
	const query = `
		SELECT p.pending, f.failed, p.oldest
		FROM  (SELECT count(*) AS pending,
		              coalesce(greatest(clock_timestamp() - min(created_at), '0'), '0') AS oldest
		       FROM  (SELECT created_at
		              FROM   event_outbox
		              WHERE  status = 'PENDING'
		              ORDER BY seq
		              LIMIT  $1) AS first) AS p,
		      (SELECT count(*) AS failed
		       FROM  (SELECT
		              FROM   event_outbox
		              WHERE  status = 'FAILED'
		              LIMIT  $1) AS any_of_them) AS f`

	var state notification.OutboxState
	err := s.Pool.QueryRow(ctx, query, MostCounted).Scan(&state.Pending, &state.Failed, &state.OldestPending)
	return state, wrap(err, "read outbox")
}
