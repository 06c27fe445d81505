package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// peopleLimit bounds what [Store.People] reads.
const peopleLimit = 100

// People reads the active recipients, up to a hundred, in the order of their types and ids.
func (s *Store) People(ctx context.Context) ([]notification.Person, error) {
	const query = `
		SELECT r.user_type, r.user_id, coalesce(r.name, '')
		FROM   ` + directoryRecipient + ` r
		WHERE  r.active
		ORDER BY r.user_type, r.user_id
		LIMIT  $1`

	return collect(ctx, s.Pool, "read people", pgx.RowToStructByPos[notification.Person], query, peopleLimit)
}
