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

// ErrNoSecret says that addresses cannot be suppressed, since their hashes take a key.
var ErrNoSecret = errors.New("HERALD_SECRET is not set, by which recipient_suppression knows addresses: set it, the same in all processes")

// suppressions are rows of recipient_suppression.
type suppressions []suppressionRow

type suppressionRow struct {
	channel notification.Channel
	hash    []byte
	reason  notification.SuppressionReason
	detail  string
	since   time.Time
}

// add adds a row, or makes the one that is there older.
func (s *suppressions) add(hash func(string) []byte, channel notification.Channel, address string, reason notification.SuppressionReason, detail string, since time.Time) {
	normal := notification.NormalAddress(channel, address)
	if normal == "" {
		return
	}
	*s = append(*s, suppressionRow{channel, hash(normal), reason, detail, since})
}

// queue writes the rows, in the order of their keys. Of several for one reason the first
// stands.
func (s suppressions) queue(batch *pgx.Batch) {
	const query = `
		INSERT INTO recipient_suppression AS s (channel, address_hash, reason, detail, since)
		SELECT channel, address_hash, reason, nullif(detail, ''), since
		FROM   unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::timestamptz[]) AS a (channel, address_hash, reason, detail, since)
		ON CONFLICT (channel, address_hash, reason) DO UPDATE
		SET    detail = excluded.detail,
		       since  = excluded.since
		WHERE  (excluded.since, coalesce(excluded.detail, '')) < (s.since, coalesce(s.detail, ''))`

	rows := slices.Clone(s)
	slices.SortFunc(rows, func(a, b suppressionRow) int {
		return cmp.Or(a.compareKey(b), a.since.Compare(b.since), cmp.Compare(a.detail, b.detail))
	})
	rows = slices.CompactFunc(rows, func(a, b suppressionRow) bool { return a.compareKey(b) == 0 })
	var channels, reasons, details []string
	var hashes [][]byte
	var since []time.Time
	for _, row := range rows {
		channels, hashes, reasons = append(channels, string(row.channel)), append(hashes, row.hash), append(reasons, string(row.reason))
		details, since = append(details, row.detail), append(since, row.since)
	}
	if len(rows) > 0 {
		batch.Queue(query, channels, hashes, reasons, details, since)
	}
}

func (r suppressionRow) compareKey(other suppressionRow) int {
	return cmp.Or(cmp.Compare(r.channel, other.channel), bytes.Compare(r.hash, other.hash), cmp.Compare(r.reason, other.reason))
}

// Suppress has nothing sent to an address any more. Where the reason is known already, the
// older row stands. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) Suppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason, detail string) error {
	if s.AddressHash == nil {
		return ErrNoSecret
	}
	var rows suppressions
	rows.add(s.AddressHash, channel, address, reason, detail, time.Now())
	batch := &pgx.Batch{}
	rows.queue(batch)
	return wrap(s.Pool.SendBatch(ctx, batch).Close(), "suppress an address")
}

// Unsuppress takes back that nothing is sent to an address, for one reason or, if it is
// empty, for all, and returns the reasons that it took back. Without HERALD_SECRET the error
// is [ErrNoSecret].
func (s *Store) Unsuppress(ctx context.Context, channel notification.Channel, address string, reason notification.SuppressionReason) ([]notification.SuppressionReason, error) {
	const query = `
		DELETE FROM recipient_suppression
		WHERE  channel = $1
		AND    address_hash = $2
		AND    $3 IN ('', reason)
		RETURNING reason`

	if s.AddressHash == nil {
		return nil, ErrNoSecret
	}
	hash := s.AddressHash(notification.NormalAddress(channel, address))
	return collect(ctx, s.Pool, "take back a suppression", pgx.RowTo[notification.SuppressionReason], query, string(channel), hash, string(reason))
}

// RecordOptOut stores what somebody has answered to a text message: that they want no more,
// or that they do again, which takes back no other reason than their own. An answer that was
// stored before changes nothing. Without HERALD_SECRET the error is [ErrNoSecret].
func (s *Store) RecordOptOut(ctx context.Context, answer notification.OptOut) error {
	const store = `
		INSERT INTO delivery_receipt (provider, receipt_id, at, status)
		VALUES ('twilio', $1, now(), $2)
		ON CONFLICT DO NOTHING`
	const lift = `
		DELETE FROM recipient_suppression
		WHERE  channel = 'SMS'
		AND    address_hash = $1
		AND    reason = 'OPT_OUT'`

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
			_, err := tx.Exec(ctx, lift, s.AddressHash(notification.NormalAddress(notification.SMS, answer.Number)))
			return err
		}
		var rows suppressions
		rows.add(s.AddressHash, notification.SMS, answer.Number, notification.SuppressedOptOut, "", time.Now())
		batch := &pgx.Batch{}
		rows.queue(batch)
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrap(err, "record an answer to a text message")
}
