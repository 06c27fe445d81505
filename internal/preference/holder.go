package preference

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// Link holds the person of a link, and a digest of the address that it was sent to.
type Link struct {
	notification.RecipientKey
	Channel notification.Channel
	Salt    []byte // 32 bytes
	Digest  []byte // the first 16 bytes of SHA-256 of Salt and the address, in the directory's spelling
}

// Holder is the person that a link means.
type Holder struct {
	notification.RecipientKey
	Locale string // empty: unknown
}

// Holder reads the person of a link: the recipient, or the person that they were merged into. ok is false if
// this person does not have the link's address, is not active, or was erased; h is then the person
// all the same.
func (s Store) Holder(ctx context.Context, l Link) (h Holder, ok bool, err error) {
	const query = "SELECT herald_has_address($1, $2, $3, $4, $5)"

	if h, err = s.reader(ctx, l.RecipientKey); err != nil {
		return h, false, err
	}
	ok, err = db.One(ctx, s.Pool, "compare the address of a link", pgx.RowTo[bool], query, h.UserType, h.UserID, l.Channel, l.Salt, l.Digest)
	return h, ok, err
}

// reader reads the language of a person, or of the person that they were merged into.
func (s Store) reader(ctx context.Context, who notification.RecipientKey) (h Holder, err error) {
	const query = `
		SELECT coalesce((
		           SELECT r.locale::text
		           FROM   recipient r
		           WHERE  r.user_type::text = $1
		           AND    r.user_id::text = $2
		           LIMIT  1), '')`

	if h.RecipientKey, err = db.Present(ctx, s.Pool, who); err != nil {
		return h, db.Wrap(err, "read the person of a link")
	}
	h.Locale, err = db.One(ctx, s.Pool, "read the language of a recipient", pgx.RowTo[string], query, h.UserType, h.UserID)
	return h, err
}
