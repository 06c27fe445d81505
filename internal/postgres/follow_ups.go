package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// followUpChannel is the channel of NOTIFY that tells of new rows of delivery_follow_up.
const followUpChannel = "delivery_follow_up"

// ListenFollowUps calls wake whenever somebody writes to delivery_follow_up, until ctx
// ends. A wake-up is only a hint, as that of [Store.ListenEvents].
func (s *Store) ListenFollowUps(ctx context.Context, wake func()) {
	s.listen(ctx, followUpChannel, wake)
}

// FollowUps reads what is to be done about deliveries, the oldest first, up to limit of
// each kind: what one kind waits for does not hold up the other.
func (s *Store) FollowUps(ctx context.Context, limit int) ([]notification.FollowUp, error) {
	const query = `
		SELECT f.id, f.delivery_id, f.kind
		FROM   unnest(array['DEAD_LETTER', 'ESCALATION']) AS k (kind)
		CROSS JOIN LATERAL (
			SELECT id, delivery_id, kind
			FROM   delivery_follow_up
			WHERE  kind = k.kind
			ORDER BY id
			LIMIT  $1
		) AS f
		ORDER BY f.id`

	return collect(ctx, s.Pool, "read what follows receipts", pgx.RowToStructByName[notification.FollowUp], query, limit)
}

// EndFollowUps deletes what is done.
func (s *Store) EndFollowUps(ctx context.Context, ids []int64) error {
	_, err := s.Pool.Exec(ctx, "DELETE FROM delivery_follow_up WHERE id = ANY ($1)", ids)
	return wrap(err, "end what follows receipts")
}

// FollowUpState reads how much is to be done, and since when.
func (s *Store) FollowUpState(ctx context.Context) (notification.FollowUpState, error) {
	const query = `
		SELECT count(*), coalesce(greatest(clock_timestamp() - min(since), '0'), '0')
		FROM  (SELECT since
		       FROM   delivery_follow_up
		       ORDER BY id
		       LIMIT  $1) AS first`

	var state notification.FollowUpState
	err := s.Pool.QueryRow(ctx, query, MostCounted).Scan(&state.Pending, &state.OldestPending)
	return state, wrap(err, "read what follows receipts")
}

// DeadLetterOf reads the dead letter of a delivery that is FAILED; false: it is not, since an
// operator has retried it, or it is gone.
func (s *Store) DeadLetterOf(ctx context.Context, deliveryID string) (notification.DeadLetter, bool, error) {
	const query = deadLetter + `
		WHERE  delivery_id = $1
		AND    status = 'FAILED'`

	letter, err := readDeadLetter(s.Pool.QueryRow(ctx, query, deliveryID))
	if errors.Is(err, notification.ErrNoDelivery) {
		return notification.DeadLetter{}, false, nil
	}
	return letter, err == nil, err
}
