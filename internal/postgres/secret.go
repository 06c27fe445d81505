package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// SecretChangedError says that the database knows another HERALD_SECRET than the process has.
type SecretChangedError struct {
	Since time.Time // when the one that it knows was first used
	Unset bool      // the process has none
}

func (e *SecretChangedError) Error() string {
	since := e.Since.UTC().Format(time.RFC3339)
	if e.Unset {
		return "HERALD_SECRET is not set, but this database has known one since " + since + ": set it, the same in all processes"
	}
	return "HERALD_SECRET is not the one that this database has known since " + since +
		": set that one, the same in all processes; to change it for good, see herald_secret in docs/reference.md"
}

// Lasting says that waiting does not help.
func (e *SecretChangedError) Lasting() bool { return true }

// AgreeOnSecret keeps the fingerprint of the first secret, and returns a
// [*SecretChangedError] for any other, and for none, whose fingerprint is empty. Of processes
// that start at once with several, one wins.
func (s *Store) AgreeOnSecret(ctx context.Context, fingerprint string) error {
	const keep = `
		INSERT INTO herald_secret (fingerprint)
		VALUES ($1)
		ON CONFLICT DO NOTHING`
	const read = `
		SELECT fingerprint, since
		FROM   herald_secret`

	if fingerprint != "" {
		if _, err := s.Pool.Exec(ctx, keep, fingerprint); err != nil {
			return wrap(err, "keep the fingerprint of HERALD_SECRET")
		}
	}
	var known string
	var since time.Time
	err := s.Pool.QueryRow(ctx, read).Scan(&known, &since) // a statement of its own sees the row of another process
	switch {
	case errors.Is(err, pgx.ErrNoRows) && fingerprint == "":
		return nil
	case err != nil:
		return wrap(err, "read the fingerprint of HERALD_SECRET")
	case known != fingerprint:
		return &SecretChangedError{Since: since, Unset: fingerprint == ""}
	default:
		return nil
	}
}
