package person

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// peopleLimit limits the rows that [Store.People] reads.
const peopleLimit = 100

// People reads up to a hundred active recipients, in the order of their types and ids.
func (s Store) People(ctx context.Context) ([]notification.Person, error) {
	const query = `
		SELECT r.user_type, r.user_id, coalesce(r.name, '')
		FROM   ` + db.DirectoryRecipient + ` r
		WHERE  r.active
		ORDER BY r.user_type, r.user_id
		LIMIT  $1`

	return db.Collect(ctx, s.Pool, "read people", pgx.RowToStructByPos[notification.Person], query, peopleLimit)
}

// maxUserTypes limits a query of user types. It is far above what a person would configure.
const maxUserTypes = 1000

// UserTypes reads the configured user types.
func (s Store) UserTypes(ctx context.Context) ([]notification.UserTypeRow, error) {
	const query = `
		SELECT user_type, who, audience
		FROM   user_type
		ORDER BY user_type
		LIMIT  $1`

	return db.Collect(ctx, s.Pool, "read user types", pgx.RowToStructByName[notification.UserTypeRow], query, maxUserTypes)
}
