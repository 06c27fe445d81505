package purge

import (
	"context"

	"herald/internal/db"
)

// DeleteThrottles deletes up to limit rows whose window is over, and returns their number.
func (s Store) DeleteThrottles(ctx context.Context, limit int) (int, error) {
	const query = `
		DELETE FROM throttle
		WHERE  (user_type, user_id, event_type, channel_type, throttle_key) IN (
		           SELECT user_type, user_id, event_type, channel_type, throttle_key
		           FROM   throttle
		           WHERE  ends_at < now() - interval '1 minute' -- a transaction that locks the row may need it
		           ORDER BY ends_at
		           LIMIT  $1
		           FOR UPDATE SKIP LOCKED)`

	tag, err := s.Pool.Exec(ctx, query, limit)
	return int(tag.RowsAffected()), db.Wrap(err, "delete throttles")
}

// DeleteTurns deletes up to limit rows of destinations that nobody wanted for a day, and returns
// their number.
func (s Store) DeleteTurns(ctx context.Context, limit int) (int, error) {
	const query = `
		DELETE FROM channel_turn
		WHERE  channel IN (
		           SELECT channel
		           FROM   channel_turn
		           WHERE  next_at < now() - interval '1 day'
		           LIMIT  $1
		           FOR UPDATE SKIP LOCKED)`

	tag, err := s.Pool.Exec(ctx, query, limit)
	return int(tag.RowsAffected()), db.Wrap(err, "delete turns")
}

// DeleteCounted deletes up to limit messages that no cap counts any more, and returns their number.
func (s Store) DeleteCounted(ctx context.Context, limit int) (int, error) {
	const query = `
		DELETE FROM counted_message
		WHERE  message_id IN (
		           SELECT k.message_id
		           FROM   counted_message k
		           WHERE  k.at < now() - coalesce((SELECT max(greatest(f.per, f.spacing)) FROM frequency_cap f), '0') - interval '1 minute'
		           ORDER BY k.at
		           LIMIT  $1
		           FOR UPDATE SKIP LOCKED)`

	tag, err := s.Pool.Exec(ctx, query, limit)
	return int(tag.RowsAffected()), db.Wrap(err, "delete counted messages")
}
