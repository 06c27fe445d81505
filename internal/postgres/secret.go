package postgres

import (
	"context"
	"time"
)

// SecretChangedError says that the database knows another HERALD_SECRET.
type SecretChangedError struct {
	Since time.Time // when the one that it knows was first used
}

func (e *SecretChangedError) Error() string {
	return "HERALD_SECRET is not the one that this database has known since " + e.Since.UTC().Format(time.RFC3339) +
		": set that one, the same in all processes; to change it for good, see herald_secret in docs/reference.md"
}

// AgreeOnSecret keeps the fingerprint of the first secret, and returns a
// [*SecretChangedError] for any other. Of processes that start at once with several, one
// wins.
func (s *Store) AgreeOnSecret(ctx context.Context, fingerprint string) error {
	const keep = `
		INSERT INTO herald_secret (fingerprint)
		VALUES ($1)
		ON CONFLICT DO NOTHING`
	const read = `
		SELECT fingerprint, since
		FROM   herald_secret`

	if _, err := s.Pool.Exec(ctx, keep, fingerprint); err != nil {
		return wrap(err, "keep the fingerprint of HERALD_SECRET")
	}
	var known string
	var since time.Time
	if err := s.Pool.QueryRow(ctx, read).Scan(&known, &since); err != nil { // a statement of its own sees the row of another process
		return wrap(err, "read the fingerprint of HERALD_SECRET")
	}
	if known != fingerprint {
		return &SecretChangedError{since}
	}
	return nil
}
