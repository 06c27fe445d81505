package event

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Unknown returns the ids that event_outbox lacks, each once.
func (s Store) Unknown(ctx context.Context, ids []string) ([]string, error) {
	const query = `
		SELECT DISTINCT i.id
		FROM   unnest(@ids::text[]) AS i (id)
		WHERE  NOT EXISTS (SELECT FROM event_outbox o WHERE o.event_id = i.id)
		ORDER BY i.id`

	return db.Collect(ctx, s.Pool, "look for events", pgx.RowTo[string], query, pgx.NamedArgs{"ids": ids})
}
