package escalation

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ListenFollowUps calls wake whenever somebody writes to delivery_follow_up, until ctx
// ends. A wake-up is only a hint, as in [event.Store.ListenEvents].
func (s Store) ListenFollowUps(ctx context.Context, wake func()) {
	s.Listen(ctx, "delivery_follow_up", wake)
}

// FollowUps reads the oldest follow-ups, up to limit of each kind. So a delay of one kind
// does not delay another.
func (s Store) FollowUps(ctx context.Context, kinds []notification.FollowUpKind, limit int) ([]notification.FollowUp, error) {
	const query = `
		SELECT f.id, f.delivery_id, f.kind
		FROM   unnest($1::text[]) AS k (kind)
		CROSS JOIN LATERAL (
			SELECT id, delivery_id, kind
			FROM   delivery_follow_up
			WHERE  kind = k.kind
			ORDER BY id
			LIMIT  $2
		) AS f
		ORDER BY f.id`

	return db.Collect(ctx, s.Pool, "read follow-ups", pgx.RowToStructByName[notification.FollowUp], query, kinds, limit)
}

// EndFollowUps deletes follow-ups that are done.
func (s Store) EndFollowUps(ctx context.Context, ids []int64) error {
	return s.Exec(ctx, "end follow-ups", "DELETE FROM delivery_follow_up WHERE id = ANY ($1)", ids)
}

// FollowUpState reads the number of follow-ups, and the age of the oldest.
func (s Store) FollowUpState(ctx context.Context) (notification.FollowUpState, error) {
	const query = `
		SELECT count(*), coalesce(greatest(clock_timestamp() - min(since), '0'), '0')
		FROM  (SELECT since
		       FROM   delivery_follow_up
		       ORDER BY id
		       LIMIT  $1) AS first`

	return db.One(ctx, s.Pool, "read follow-ups", pgx.RowToStructByPos[notification.FollowUpState], query, db.MostCounted)
}

// DeadLetterOf reads the dead letter of a FAILED delivery. It returns false if an operator
// has retried the delivery, or it is gone.
func (s Store) DeadLetterOf(ctx context.Context, deliveryID string) (notification.DeadLetter, bool, error) {
	const query = `
		SELECT delivery_id, event_id,
		       coalesce(correlation_id, '') AS correlation_id,
		       channel, user_type, user_id,
		       coalesce(last_error, '') AS reason,
		       attempt_count AS attempts,
		       now() AS failed_at
		FROM   notification
		WHERE  delivery_id = $1
		AND    status = 'FAILED'`

	letter, err := db.One(ctx, s.Pool, "read dead letter", db.ByName[notification.DeadLetter](), query, deliveryID)
	return letter, err == nil, db.IgnoreNoRows(err)
}
