package inbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ActiveRecipient returns the active recipient who signs in with a token of who: the target
// of a merge of who, else who. If that person is not active, the error is [notification.ErrNoRecipient].
func (s Store) ActiveRecipient(ctx context.Context, who notification.RecipientKey) (notification.RecipientKey, error) {
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

	found, err := db.One(ctx, s.Pool, "read an active recipient", pgx.RowToStructByPos[notification.RecipientKey], query, who.UserType,
		who.UserID)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, notification.ErrNoRecipient
	}
	return found, err
}

// ActiveRecipients returns the recipients who are active, have a type in user_type, and were not
// merged into another person. Herald notifies nobody else.
func (s Store) ActiveRecipients(ctx context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error) {
	const query = `
		SELECT DISTINCT r.user_type, r.user_id
		FROM   jsonb_to_recordset($1) AS w ("UserType" text, "UserID" text)
		JOIN   ` + db.DirectoryPerson + ` r ON (r.user_type, r.user_id) = (w."UserType", w."UserID")
		JOIN   user_type u USING (user_type)
		WHERE  r.active
		AND    NOT EXISTS (SELECT FROM merged_recipient m WHERE (m.user_type, m.user_id) = (r.user_type, r.user_id))`

	return db.Collect(ctx, s.Pool, "read active recipients", pgx.RowToStructByPos[notification.RecipientKey], query, who)
}
