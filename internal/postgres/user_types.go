package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// maxUserTypes bounds what a query of user types reads. It is far above what a
// person would configure.
const maxUserTypes = 1000

// UserTypes reads the types of people that there are.
func (s *Store) UserTypes(ctx context.Context) ([]notification.UserTypeRow, error) {
	const query = `
		SELECT user_type, who, audience
		FROM   user_type
		ORDER BY user_type
		LIMIT  $1`

	return collect(ctx, s.Pool, "read user types", pgx.RowToStructByName[notification.UserTypeRow], query, maxUserTypes)
}
