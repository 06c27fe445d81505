package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// PublishedEvents reads up to limit events whose message RabbitMQ has had, after a place, in the order of
// their writing.
func (s Store) PublishedEvents(ctx context.Context, after notification.EventPlace, limit int) ([]notification.PublishedEvent, error) {
	const query = `
		SELECT event_id AS id, created_at, seq
		FROM   event_outbox
		WHERE  (created_at, seq) > (@at, @seq)
		AND    acknowledged_at IS NOT NULL
		ORDER BY created_at, seq
		LIMIT  @limit`

	return db.Collect(ctx, s.Pool, "read published events", db.ByName[notification.PublishedEvent](), query,
		pgx.NamedArgs{"at": after.CreatedAt, "seq": after.Seq, "limit": limit})
}

// CountPublished counts the events written since a time whose message RabbitMQ has had.
func (s Store) CountPublished(ctx context.Context, since time.Time) (int, error) {
	const query = "SELECT count(*) FROM event_outbox WHERE created_at >= $1 AND acknowledged_at IS NOT NULL"
	return db.One(ctx, s.Pool, "count published events", pgx.RowTo[int], query, since)
}
