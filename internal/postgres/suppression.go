package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/address"
	"herald/internal/notification"
)

// ErrNoSecret means that addresses cannot be suppressed, because their hashes need a key.
var ErrNoSecret = errors.New("HERALD_SECRET is not set, so recipient_suppression cannot identify addresses: set it, the same in all processes")

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
func (s *Suppressions) Add(keys []notification.AddressKey, channel notification.Channel, written string, reason notification.SuppressionReason, detail string, since time.Time) {
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
		SET    (detail, since) = (SELECT * FROM (VALUES (excluded.detail, excluded.since), (s.detail, s.since)) AS v (d, t) ORDER BY t, coalesce(d, '') LIMIT 1),
		       twin            = s.twin OR excluded.twin
		WHERE  (excluded.since, coalesce(excluded.detail, '')) < (s.since, coalesce(s.detail, ''))
		OR     excluded.twin AND NOT s.twin`

	if len(s) > 0 {
		batch.Queue(query, s)
	}
}

// Suppress stops all messages to an address. If the reason is known already, the older row
// stays. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) Suppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason, detail string) error {
	if s.AddressHash == nil {
		return ErrNoSecret
	}
	var rows Suppressions
	rows.Add(s.AddressKeys(), channel, address, reason, detail, time.Now())
	batch := &pgx.Batch{}
	rows.Queue(batch)
	return Wrap(s.Pool.SendBatch(ctx, batch).Close(), "suppress an address")
}

// Unsuppress removes the suppressions of an address for one reason; empty: for all reasons.
// It returns the removed reasons. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) Unsuppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason) ([]notification.SuppressionReason, error) {
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
func (s *Store) Lift(ctx context.Context, tx pgx.Tx, channel notification.Channel, written string, reason notification.SuppressionReason) ([]notification.SuppressionReason, error) {
	const lock = "SELECT pg_advisory_xact_lock_shared(" + rekeyLock + ")"
	const query = `
		DELETE FROM recipient_suppression
		WHERE  channel = $1
		AND    address_hash = ANY ($2)
		AND    $3 IN ('', reason)
		RETURNING reason`

	if _, err := tx.Exec(ctx, lock); err != nil {
		return nil, err
	}
	hashes := s.addressHashes(address.Key(channel, written))
	return Collect(ctx, tx, "take back a suppression", pgx.RowTo[notification.SuppressionReason], query, channel, hashes, reason)
}

// suppressionKey identifies an address in recipient_suppression.
type suppressionKey struct {
	channel notification.Channel
	hash    string
}

// readSuppressions adds the suppressions of their addresses to people, in one statement.
// Without a secret the hashes are unknown, and nothing is suppressed.
func (s *Store) readSuppressions(ctx context.Context, on Querier, people []*notification.Recipient) error {
	const query = `
		SELECT s.channel, s.address_hash, s.reason, coalesce(s.detail, ''), s.since
		FROM   unnest($1::text[], $2::bytea[]) AS a (channel, address_hash)
		JOIN   recipient_suppression s USING (channel, address_hash)
		ORDER BY s.since, s.reason`

	owners, channels, hashes := s.ownersOf(people)
	if len(hashes) == 0 {
		return nil
	}
	var found notification.Suppression
	var hash []byte
	fields := []any{&found.Channel, &hash, &found.Reason, &found.Detail, &found.Since}
	return Each(ctx, on, "read suppressions", fields, func() {
		for _, owner := range owners[suppressionKey{found.Channel, string(hash)}] {
			owner.Suppressions = appendSuppression(owner.Suppressions, found)
		}
	}, query, channels, hashes)
}

// appendSuppression adds a suppression, unless the address has one for the same reason
// under another secret.
func appendSuppression(all []notification.Suppression, found notification.Suppression) []notification.Suppression {
	if slices.ContainsFunc(all, func(s notification.Suppression) bool { return s.Channel == found.Channel && s.Reason == found.Reason }) {
		return all
	}
	return append(all, found)
}

// ownersOf returns each address once, and the owners of each address: several people may share
// one.
func (s *Store) ownersOf(people []*notification.Recipient) (owners map[suppressionKey][]*notification.Recipient, channels []string, hashes [][]byte) {
	if s.AddressHash == nil {
		return nil, nil, nil
	}
	owners = map[suppressionKey][]*notification.Recipient{}
	for _, person := range people {
		for _, channel := range notification.Channels() {
			text := address.Key(channel, person.Address(channel))
			if text == "" {
				continue
			}
			for _, hash := range s.addressHashes(text) {
				key := suppressionKey{channel, string(hash)}
				if owners[key] == nil {
					channels, hashes = append(channels, string(channel)), append(hashes, hash)
				}
				owners[key] = append(owners[key], person)
			}
		}
	}
	return owners, channels, hashes
}

// switchOffTimeout limits the wait for an application that locks its rows. It leaves time
// to note the problem on the attempt.
const switchOffTimeout = 2 * time.Second

// switchOff switches off tokens of the recipient of the attempts. If that fails, it notes
// the problem on each attempt, and returns it.
func (s *Store) switchOff(ctx context.Context, tokens, ids []string, numbers []int) (problem string) {
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
