package suppression

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/address"
	"herald/internal/db"
	"herald/internal/notification"
)

// ErrNoSecret means that addresses cannot be suppressed, because their hashes need a key.
var ErrNoSecret = errors.New("HERALD_SECRET is not set, so recipient_suppression cannot identify addresses: set it, the same in all " +
	"processes")

// Suppressions are rows of recipient_suppression.
type Suppressions []suppressionRow

type suppressionRow struct {
	Channel notification.Channel           `json:"channel"`
	Hash    []byte                         `json:"hash"`
	Reason  notification.SuppressionReason `json:"reason"`
	Detail  string                         `json:"detail"`
	Since   time.Time                      `json:"since"`
	Secret  string                         `json:"secret"` // the fingerprint of the secret behind Hash
	Twin    bool                           `json:"twin"`   // that secret is HERALD_SECRET_PREVIOUS
}

// Add adds a row for each key. While a secret is replaced, processes that have only one of
// the two must find the row.
func (s *Suppressions) Add(
	keys []notification.AddressKey, channel notification.Channel, written string, reason notification.SuppressionReason, detail string,
	since time.Time,
) {
	text := address.Key(channel, written)
	if text == "" {
		return
	}
	for i, key := range keys {
		*s = append(*s, suppressionRow{channel, key.Hash(text), reason, detail, since, key.Fingerprint, i > 0})
	}
}

// Queue writes the rows in the order of their keys, and keeps the oldest row for each
// reason. It writes no twin once suppressions move to the newer secret.
func (s Suppressions) Queue(batch *pgx.Batch) {
	const query = `
		INSERT INTO recipient_suppression AS s (channel, address_hash, reason, detail, since, secret, twin)
		SELECT DISTINCT ON (channel, address_hash, reason) channel, address_hash, reason, nullif(detail, ''), since, nullif(secret, ''), twin
		FROM   jsonb_to_recordset($1) AS a (channel text, hash text, reason text, detail text, since timestamptz, secret text, twin boolean),
		       decode(hash, 'base64') AS address_hash
		WHERE  NOT twin
		OR     secret IN (SELECT fingerprint FROM herald_secret WHERE rekeyed_at IS NULL)
		ORDER BY channel, address_hash, reason, since, detail
		ON CONFLICT (channel, address_hash, reason) DO UPDATE
		SET    (detail, since) = (SELECT * FROM (VALUES (excluded.detail, excluded.since), (s.detail, s.since)) AS v (d, t) ORDER BY t,
		       coalesce(d, '') LIMIT 1),
		       twin            = s.twin OR excluded.twin
		WHERE  (excluded.since, coalesce(excluded.detail, '')) < (s.since, coalesce(s.detail, ''))
		OR     excluded.twin AND NOT s.twin`

	if len(s) > 0 {
		batch.Queue(query, s)
	}
}

// Suppress stops all messages to an address. If the reason is known already, the older row
// stays. Without HERALD_SECRET the error is [ErrNoSecret].
func (s Store) Suppress(
	ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason, detail string,
) error {
	if s.AddressHash == nil {
		return ErrNoSecret
	}
	var rows Suppressions
	rows.Add(s.AddressKeys(), channel, address, reason, detail, time.Now())
	batch := &pgx.Batch{}
	rows.Queue(batch)
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "suppress an address")
}

// Unsuppress removes the suppressions of an address for one reason; empty: for all reasons.
// It returns the removed reasons. Without HERALD_SECRET the error is [ErrNoSecret].
func (s Store) Unsuppress(
	ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason,
) ([]notification.SuppressionReason, error) {
	if s.AddressHash == nil {
		return nil, ErrNoSecret
	}
	var lifted []notification.SuppressionReason
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		lifted, err = s.Lift(ctx, tx, channel, address, reason)
		return err
	})
	slices.Sort(lifted)
	return slices.Compact(lifted), err
}

// Lift is [Store.Unsuppress] in a transaction. It may return a reason twice. It shares
// rekeyLock: otherwise it could miss a row that moves at the same moment.
func (s Store) Lift(
	ctx context.Context, tx pgx.Tx, channel notification.Channel, written string, reason notification.SuppressionReason,
) ([]notification.SuppressionReason, error) {
	const lock = "SELECT pg_advisory_xact_lock_shared(" + RekeyLock + ")"
	const query = `
		DELETE FROM recipient_suppression
		WHERE  channel = $1
		AND    address_hash = ANY ($2)
		AND    $3 IN ('', reason)
		RETURNING reason`

	if _, err := tx.Exec(ctx, lock); err != nil {
		return nil, err
	}
	hashes := s.AddressHashes(address.Key(channel, written))
	return db.Collect(ctx, tx, "take back a suppression", pgx.RowTo[notification.SuppressionReason], query, channel, hashes, reason)
}

// SMSHashes returns the hashes of a phone number, one for each secret.
func (s Store) SMSHashes(number string) [][]byte {
	return s.AddressHashes(address.Key(notification.SMS, number))
}

// RekeyLock is the advisory lock for pages that move suppressions.
const RekeyLock = "hashtextextended('herald recipient_suppression', 0)"
