package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// switchOffTimeout limits the wait for an application that locks its rows. It leaves time
// to note the problem on the attempt.
const switchOffTimeout = 2 * time.Second

// switchOff switches off tokens of the recipient of the attempts. If that fails, it notes
// the problem on each attempt, and returns it.
func (s Store) switchOff(ctx context.Context, tokens, ids []string, numbers []int) (problem string) {
	// '0' means false in any type of column.
	const update = `
		UPDATE recipient_device d
		SET    active = '0'
		WHERE  d.token::text = ANY ($1)
		AND    (d.user_type::text, d.user_id::text) IN (SELECT n.user_type, n.user_id FROM notification n WHERE n.delivery_id = ANY ($2))`
	const note = `
		UPDATE delivery_attempt a
		SET    detail = concat_ws('; ', a.detail, $3::text)
		FROM   unnest($1::text[], $2::int[]) AS i (delivery_id, attempt)
		WHERE  a.delivery_id = i.delivery_id
		AND    a.attempt = i.attempt`

	hurried, cancel := context.WithTimeout(ctx, switchOffTimeout)
	defer cancel()
	_, err := s.Pool.Exec(hurried, update, tokens, ids)
	if err == nil {
		return ""
	}
	problem = "a dead token could not be switched off in recipient_device: " + whyNotUpdated(err)
	if _, err := s.Pool.Exec(ctx, note, ids, numbers, problem); err != nil {
		problem += ", and this problem could not be recorded"
	}
	return problem
}

// whyNotUpdated explains in Herald's words why recipient_device cannot be updated. A
// trigger of an application's view may quote anything.
func whyNotUpdated(err error) string {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return "the database did not answer in time"
	}
	switch refused.Code {
	case "55000", "0A000":
		return "this view cannot be updated: give it an updatable column active, or an INSTEAD OF trigger"
	case "42501":
		return "Herald's role may not; GRANT UPDATE (active) ON recipient_device"
	default:
		return fmt.Sprintf("the database refuses it, SQLSTATE %s", refused.Code)
	}
}
