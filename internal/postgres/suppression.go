package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// ErrNoSecret means that addresses cannot be suppressed, since their hashes need a key.
var ErrNoSecret = errors.New("HERALD_SECRET is not set, by which recipient_suppression knows addresses: set it, the same in all processes")

// suppressions are rows of recipient_suppression.
type suppressions []suppressionRow

type suppressionRow struct {
	channel notification.Channel
	hash    []byte
	reason  notification.SuppressionReason
	detail  string
	since   time.Time
	secret  string // the fingerprint of the secret behind hash
	twin    bool   // that secret is HERALD_SECRET_PREVIOUS
}

// add adds a row for each key. While a secret is replaced, processes that have only one of
// the two must find the row.
func (s *suppressions) add(keys []notification.AddressKey, channel notification.Channel, address string, reason notification.SuppressionReason, detail string, since time.Time) {
	normal := notification.NormalAddress(channel, address)
	if normal == "" {
		return
	}
	for i, key := range keys {
		*s = append(*s, suppressionRow{channel, key.Hash(normal), reason, detail, since, key.Fingerprint, i > 0})
	}
}

// queue writes the rows in the order of their keys, and keeps the oldest row for each
// reason. It writes no twin once suppressions move to the newer secret.
func (s suppressions) queue(batch *pgx.Batch) {
	const query = `
		INSERT INTO recipient_suppression AS s (channel, address_hash, reason, detail, since, secret, twin)
		SELECT channel, address_hash, reason, nullif(detail, ''), since, nullif(secret, ''), twin
		FROM   unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::boolean[])
		       AS a (channel, address_hash, reason, detail, since, secret, twin)
		WHERE  NOT twin
		OR     secret IN (SELECT fingerprint FROM herald_secret WHERE rekeyed_at IS NULL)
		ON CONFLICT (channel, address_hash, reason) DO UPDATE
		SET    (detail, since) = (SELECT * FROM (VALUES (excluded.detail, excluded.since), (s.detail, s.since)) AS v (d, t) ORDER BY t, coalesce(d, '') LIMIT 1),
		       twin            = s.twin OR excluded.twin
		WHERE  (excluded.since, coalesce(excluded.detail, '')) < (s.since, coalesce(s.detail, ''))
		OR     excluded.twin AND NOT s.twin`

	rows := slices.Clone(s)
	slices.SortFunc(rows, func(a, b suppressionRow) int {
		return cmp.Or(a.compareKey(b), a.since.Compare(b.since), cmp.Compare(a.detail, b.detail))
	})
	rows = slices.CompactFunc(rows, func(a, b suppressionRow) bool { return a.compareKey(b) == 0 })
	var channels, reasons, details, secrets []string
	var twins []bool
	var hashes [][]byte
	var since []time.Time
	for _, row := range rows {
		channels, hashes, reasons = append(channels, string(row.channel)), append(hashes, row.hash), append(reasons, string(row.reason))
		details, since = append(details, row.detail), append(since, row.since)
		secrets, twins = append(secrets, row.secret), append(twins, row.twin)
	}
	if len(rows) > 0 {
		batch.Queue(query, channels, hashes, reasons, details, since, secrets, twins)
	}
}

func (r suppressionRow) compareKey(other suppressionRow) int {
	return cmp.Or(cmp.Compare(r.channel, other.channel), bytes.Compare(r.hash, other.hash), cmp.Compare(r.reason, other.reason))
}

// Suppress stops all messages to an address. If the reason is known already, the older row
// stays. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) Suppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason, detail string) error {
	if s.AddressHash == nil {
		return ErrNoSecret
	}
	var rows suppressions
	rows.add(s.AddressKeys(), channel, address, reason, detail, time.Now())
	batch := &pgx.Batch{}
	rows.queue(batch)
	return wrap(s.Pool.SendBatch(ctx, batch).Close(), "suppress an address")
}

// Unsuppress removes the suppressions of an address for one reason; empty: for all reasons.
// It returns the removed reasons. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) Unsuppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason) ([]notification.SuppressionReason, error) {
	if s.AddressHash == nil {
		return nil, ErrNoSecret
	}
	var lifted []notification.SuppressionReason
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		lifted, err = s.lift(ctx, tx, channel, address, reason)
		return err
	})
	slices.Sort(lifted)
	return slices.Compact(lifted), err
}

// lift is [Store.Unsuppress] in a transaction. It may return a reason twice. It shares
// rekeyLock: otherwise it could miss a row that moves at the same moment.
func (s *Store) lift(ctx context.Context, tx pgx.Tx, channel notification.Channel, address string, reason notification.SuppressionReason) ([]notification.SuppressionReason, error) {
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
	hashes := s.addressHashes(notification.NormalAddress(channel, address))
	return collect(ctx, tx, "take back a suppression", pgx.RowTo[notification.SuppressionReason], query, channel, hashes, reason)
}

// RecordOptOut stores a recipient's answer to a text message: they want no more, or they do
// again. The latter lifts only their opt-out. An answer that was stored before changes
// nothing. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) RecordOptOut(ctx context.Context, answer notification.OptOut) error {
	const store = `
		INSERT INTO delivery_receipt (provider, receipt_id, at, status)
		VALUES ('twilio', $1, now(), $2)
		ON CONFLICT DO NOTHING`

	if s.AddressHash == nil {
		return ErrNoSecret
	}
	word := "STOP"
	if answer.Lifted {
		word = "START"
	}
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		stored, err := tx.Exec(ctx, store, answer.MessageID, word)
		if err != nil || stored.RowsAffected() == 0 {
			return err
		}
		if answer.Lifted {
			_, err := s.lift(ctx, tx, notification.SMS, answer.Number, notification.SuppressedOptOut)
			return err
		}
		var rows suppressions
		rows.add(s.AddressKeys(), notification.SMS, answer.Number, notification.SuppressedOptOut, "", time.Now())
		batch := &pgx.Batch{}
		rows.queue(batch)
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "record an answer to a text message")
}
