package relay

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// HeldEvents returns the events of a source whose rows must stay in the source's table: Herald
// may still notify somebody of an event that is open or failed. Herald does not know a row
// that was sent before Herald came, or that was purged here, so nothing holds it.
func (s Store) HeldEvents(ctx context.Context, source string, ids []string) ([]string, error) {
	const query = `
		SELECT e.id
		FROM   unnest($1::text[]) AS e (id)
		WHERE  (SELECT p.status FROM processed_event p WHERE p.event_id = e.id) = 'PROCESSING'
		OR     EXISTS (
			SELECT
			FROM   event_outbox t
			WHERE  t.event_id = e.id
			AND    t.source = $2
			AND    t.status <> 'PROCESSED'
		)`

	return db.Collect(ctx, s.Pool, "read the events that are open", pgx.RowTo[string], query, ids, source)
}
