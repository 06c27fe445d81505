package db

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// UseSecrets sets the keys of HERALD_SECRET and HERALD_SECRET_PREVIOUS. The store looks for
// addresses under both.
func (s *DB) UseSecrets(current, previous notification.AddressKey) {
	s.Fingerprint, s.AddressHash, s.PreviousKey = current.Fingerprint, current.Hash, previous
}

// AddressKeys returns the keys for hashing addresses, first the key of HERALD_SECRET.
// Without HERALD_SECRET there are none.
func (s *DB) AddressKeys() []notification.AddressKey {
	if s.AddressHash == nil {
		return nil
	}
	keys := []notification.AddressKey{{Fingerprint: s.Fingerprint, Hash: s.AddressHash}}
	if s.PreviousKey.Hash != nil {
		keys = append(keys, s.PreviousKey)
	}
	return keys
}

// AddressHashes returns the hashes of a normal address, one for each key.
func (s *DB) AddressHashes(normal string) [][]byte {
	var hashes [][]byte
	for _, key := range s.AddressKeys() {
		hashes = append(hashes, key.Hash(normal))
	}
	return hashes
}

// SecretMismatch is the reason why a process cannot work with its secrets.
type SecretMismatch int

// The reasons.
const (
	SecretUnset      SecretMismatch = iota // the database knows a secret, and the process has none
	SecretUnknown                          // the database knows another secret
	SecretSuperseded                       // suppressions are being rehashed with a newer secret, which the process lacks
	PreviousMissing                        // suppressions are under the previous secret, which the process lacks
)

// SecretChangedError means that the database knows another HERALD_SECRET than the process
// has.
type SecretChangedError struct {
	Since    time.Time // when the database first met the secret that the process lacks
	Mismatch SecretMismatch
}

func (e *SecretChangedError) Error() string {
	since := e.Since.UTC().Format(time.RFC3339)
	switch e.Mismatch {
	case SecretUnset:
		return "HERALD_SECRET is not set, but this database has known one since " + since + ": set it, the same in all processes"
	case SecretSuperseded:
		return "HERALD_SECRET was replaced at " + since + ", and suppressions move to the new one: set the new one, the same in all processes"
	case PreviousMissing:
		return "suppressions of this database are still under the secret of " + since +
			": set it as HERALD_SECRET_PREVIOUS until `starter secret rekey` has moved all of them"
	default:
		return "HERALD_SECRET differs from the secret that this database has known since " + since +
			": set that one, the same in all processes; to replace it, set it as HERALD_SECRET_PREVIOUS: see docs/secrets.md"
	}
}

// Lasting reports that waiting does not help.
func (e *SecretChangedError) Lasting() bool { return true }

// knownSecret is a row of herald_secret.
type knownSecret struct {
	Fingerprint string
	Since       time.Time
	Superseded  bool
	Rekeyed     bool
}

// AgreeOnSecret records the fingerprint of a database's first secret, or of the secret that
// follows the previous one. It returns a [*SecretChangedError] if the process would miss
// suppressions with its secrets. If several processes start at once with different secrets,
// one wins. Call it after [DB.UseSecrets].
func (s *DB) AgreeOnSecret(ctx context.Context) error {
	current, previous := s.Fingerprint, s.PreviousKey.Fingerprint
	var known []knownSecret
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		if current != "" {
			if err := introduce(ctx, tx, current, previous); err != nil {
				return err
			}
		}
		known, err = ReadSecrets(ctx, tx)
		return err
	})
	if err != nil {
		return Wrap(err, "compare HERALD_SECRET with the database's")
	}
	return mismatch(known, current, previous)
}

// introduce supersedes the previous secret if it is the only one, and records the current
// secret if there is no other.
func introduce(ctx context.Context, tx pgx.Tx, current, previous string) error {
	const supersede = `
		UPDATE herald_secret
		SET    superseded_at = now()
		WHERE  fingerprint = $2
		AND    fingerprint <> $1
		AND    superseded_at IS NULL
		AND    NOT EXISTS (SELECT FROM herald_secret WHERE superseded_at IS NOT NULL)`
	const keep = `
		INSERT INTO herald_secret (fingerprint)
		VALUES ($1)
		ON CONFLICT DO NOTHING`

	if previous != "" {
		if _, err := tx.Exec(ctx, supersede, current, previous); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, keep, current)
	return err
}

// ReadSecrets takes a new snapshot, so it sees what another process has recorded.
func ReadSecrets(ctx context.Context, on Querier) ([]knownSecret, error) {
	const read = `
		SELECT fingerprint, since, superseded_at IS NOT NULL AS superseded, rekeyed_at IS NOT NULL AS rekeyed
		FROM   herald_secret
		ORDER BY superseded_at DESC NULLS FIRST`

	return Collect(ctx, on, "read the fingerprint of HERALD_SECRET", pgx.RowToStructByName[knownSecret], read)
}

// mismatch compares the secrets of a process with the secrets that the database knows, the
// present one first. A process with only the superseded secret can work until suppressions
// move.
func mismatch(known []knownSecret, current, previous string) error {
	found := slices.IndexFunc(known, func(k knownSecret) bool { return k.Fingerprint == current })
	switch {
	case len(known) == 0:
		return nil
	case current == "":
		return &SecretChangedError{known[0].Since, SecretUnset}
	case found < 0:
		return &SecretChangedError{known[0].Since, SecretUnknown}
	}
	for _, other := range known {
		switch {
		case other.Fingerprint == current || other.Fingerprint == previous:
		case !known[found].Superseded:
			return &SecretChangedError{other.Since, PreviousMissing}
		case known[found].Rekeyed:
			return &SecretChangedError{other.Since, SecretSuperseded}
		}
	}
	return nil
}
