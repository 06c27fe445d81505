package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// chunk is how many deliveries one transaction cancels. A large event has a million.
const chunk = 1000

// cancelPending cancels the PENDING deliveries of an event whose workflow has ended or never
// starts, in chunks. It leaves out a delivery that an operator retries, since the retry has
// its own workflow. If it is interrupted, a repeat cancels the rest.
func (s *Store) cancelPending(ctx context.Context, eventID string) error {
	lanes, err := s.Lanes(ctx, eventID)
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		for last, more := int64(0), true; more; {
			if last, more, err = s.cancelChunk(ctx, eventID, lane, last); err != nil {
				return wrap(err, "cancel deliveries")
			}
		}
	}
	return nil
}

// cancelChunk cancels the next deliveries of a lane, whose notification.id is above after. It
// returns the last id that it read, and whether there may be more.
func (s *Store) cancelChunk(ctx context.Context, eventID string, lane notification.Lane, after int64) (last int64, more bool, err error) {
	const lock = `
		SELECT n.id
		FROM   notification n
		WHERE  n.event_id = $1
		AND    n.channel = $2
		AND    ` + laneKind + ` = $3
		AND    ` + undelivered + `
		AND    n.status = (SELECT 'PENDING') -- keeps the planner to the index of the lane
		AND    n.id > $4
		ORDER BY n.id
		LIMIT  $5
		FOR UPDATE`
	// A second statement sees a retry that committed while the first one waited for its row.
	const cancel = `
		UPDATE notification n
		SET    status     = 'CANCELLED',
		       last_error = coalesce(` + cancellation + `, 'event cancelled')
		WHERE  n.id = ANY ($1)
		AND    NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)`

	var ids []int64
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, lock, eventID, lane.Channel, kindOf(lane), after, chunk) // CollectRows returns its error
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ids) == 0 {
			return err
		}
		_, err := tx.Exec(ctx, cancel, ids)
		return err
	})
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	return ids[len(ids)-1], len(ids) == chunk, nil
}
