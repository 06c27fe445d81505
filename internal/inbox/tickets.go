package inbox

import (
	"context"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
)

// NewTicket stores the hash of a ticket, with which a recipient may open one socket until
// ticketExpires. It deletes expired tickets faster than new ones come.
func (s Store) NewTicket(ctx context.Context, hash []byte, who notification.RecipientKey, tokenExpires, ticketExpires time.Time) error {
	const query = `
		WITH expired AS (
			DELETE FROM gateway_ticket
			WHERE  ticket_hash IN (
			           SELECT ticket_hash
			           FROM   gateway_ticket
			           WHERE  expires_at <= now()
			           ORDER BY expires_at
			           LIMIT  10
			           FOR UPDATE SKIP LOCKED)
		)
		INSERT INTO gateway_ticket (ticket_hash, user_type, user_id, token_expires_at, expires_at)
		VALUES ($1, $2, $3, $4, $5)`

	return s.Exec(ctx, "store ticket", query, hash, who.UserType, who.UserID, tokenExpires, ticketExpires)
}

// UseTicket takes a ticket, and returns its recipient and the expiry of the token that it
// was issued for. If the ticket was used, has expired or never existed, the error is
// [notification.ErrNoTicket].
func (s Store) UseTicket(ctx context.Context, hash []byte) (who notification.RecipientKey, tokenExpires time.Time, err error) {
	const query = `
		DELETE FROM gateway_ticket
		WHERE  ticket_hash = $1
		AND    expires_at > now()
		RETURNING user_type, user_id, token_expires_at`

	err = s.Pool.QueryRow(ctx, query, hash).Scan(&who.UserType, &who.UserID, &tokenExpires)
	return who, tokenExpires.UTC(), db.NoRowsAs(db.Wrap(err, "use ticket"), notification.ErrNoTicket)
}
