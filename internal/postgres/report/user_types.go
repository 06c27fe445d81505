package report

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// maxUserTypes is how many user types an error names.
const maxUserTypes = 50

// checkUserType refuses a user type that does not exist; empty: none was named. The
// error is a [notification.UnknownUserTypeError].
func (r Reader) checkUserType(ctx context.Context, userType notification.UserType) error {
	const query = `
		SELECT user_type
		FROM   user_type
		ORDER BY user_type = $1 DESC, user_type
		LIMIT  $2`

	if userType == "" {
		return nil
	}
	known, err := list(ctx, r, "user types", pgx.RowTo[notification.UserType], query, userType, maxUserTypes)
	switch {
	case err != nil:
		return err
	case !slices.Contains(known, userType):
		return &notification.UnknownUserTypeError{UserType: userType, Known: known}
	}
	return nil
}

// RecipientPrefixes reads the beginnings of recipients, such as CUSTOMER/, that begin
// with prefix in any case, up to limit of them.
func (r Reader) RecipientPrefixes(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT user_type || '/'
		FROM   user_type
		WHERE  starts_with(user_type || '/', upper($1))
		ORDER BY user_type
		LIMIT  $2`

	return list(ctx, r, "user types", pgx.RowTo[string], query, prefix, limit)
}
