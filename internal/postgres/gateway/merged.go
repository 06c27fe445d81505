package gateway

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// present reads the target of the merge of who; without a merge, it returns who.
func present(ctx context.Context, on db.Querier, who notification.RecipientKey) (notification.RecipientKey, error) {
	const query = "SELECT to_user_type, to_user_id FROM merged_recipient WHERE user_type = $1 AND user_id = $2"

	to := who
	err := on.QueryRow(ctx, query, who.UserType, who.UserID).Scan(&to.UserType, &to.UserID)
	return to, db.IgnoreNoRows(err)
}

// ActiveRecipient returns the active recipient who signs in with a token of who: the target
// of a merge of who, else who. If that person is not active, the error is [notification.ErrNoRecipient].
func (s *Store) ActiveRecipient(ctx context.Context, who notification.RecipientKey) (notification.RecipientKey, error) {
	const query = `
		SELECT r.user_type, r.user_id
		FROM  (SELECT coalesce(max(m.to_user_type), $1) AS user_type, coalesce(max(m.to_user_id), $2) AS user_id
		       FROM   merged_recipient m
		       WHERE  m.user_type = $1
		       AND    m.user_id = $2) p
		JOIN   ` + db.DirectoryPerson + ` r USING (user_type, user_id)
		JOIN   user_type u USING (user_type)
		WHERE  r.active
		LIMIT  1`

	found, err := db.One(ctx, s.Pool, "read an active recipient", pgx.RowToStructByPos[notification.RecipientKey], query, who.UserType, who.UserID)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, notification.ErrNoRecipient
	}
	return found, err
}
