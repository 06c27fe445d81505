package receipts

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/suppression"
)

// RecordOptOut stores a recipient's answer to a text message: STOP, or START. START lifts only
// their opt-out, and no other suppression, unless the person sent a newer STOP. An answer that was
// stored before changes nothing.
// Without HERALD_SECRET the error is [suppression.ErrNoSecret].
func (s Store) RecordOptOut(ctx context.Context, answer notification.OptOut) error {
	const store = `
		INSERT INTO delivery_receipt (provider, receipt_id, at, status)
		VALUES ($3, $1, $4, $2)
		ON CONFLICT DO NOTHING`

	if s.AddressHash == nil {
		return suppression.ErrNoSecret
	}
	if now := time.Now(); answer.At.IsZero() || answer.At.After(now) {
		answer.At = now
	}
	const newest = `
		UPDATE recipient_suppression
		SET    since = $3
		WHERE  channel = 'SMS'
		AND    address_hash = ANY ($1)
		AND    reason = $2
		AND    since < $3`
	const latest = "SELECT max(since) FROM recipient_suppression WHERE channel = 'SMS' AND address_hash = ANY ($1) AND reason = $2"

	word := "STOP"
	if answer.Lifted {
		word = "START"
	}
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		stored, err := tx.Exec(ctx, store, answer.MessageID, word, cmp.Or(answer.Provider, "twilio"), answer.At)
		if err != nil || stored.RowsAffected() == 0 {
			return err
		}
		hashes := suppression.On(s.DB).SMSHashes(answer.Number)
		var last *time.Time // the person's latest STOP
		if err := tx.QueryRow(ctx, latest, hashes, notification.SuppressedOptOut).Scan(&last); err != nil {
			return err
		}
		isLate := last != nil && last.After(answer.At)
		switch {
		case isLate:
			return nil
		case answer.Lifted:
			_, err := suppression.On(s.DB).Lift(ctx, tx, notification.SMS, answer.Number, notification.SuppressedOptOut)
			return err
		}
		var rows suppression.Suppressions
		rows.Add(s.AddressKeys(), notification.SMS, answer.Number, notification.SuppressedOptOut, "", answer.At)
		batch := &pgx.Batch{}
		rows.Queue(batch)
		batch.Queue(newest, hashes, notification.SuppressedOptOut, answer.At)
		return tx.SendBatch(ctx, batch).Close()
	})
	return db.Wrap(err, "record an answer to a text message")
}
