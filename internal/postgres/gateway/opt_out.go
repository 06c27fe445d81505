package gateway

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// RecordOptOut stores a recipient's answer to a text message: STOP, or START. START lifts only
// their opt-out, and no other suppression. An answer that was stored before changes nothing.
// Without HERALD_SECRET the error is [postgres.ErrNoSecret].
func (s *Store) RecordOptOut(ctx context.Context, answer notification.OptOut) error {
	const store = `
		INSERT INTO delivery_receipt (provider, receipt_id, at, status)
		VALUES ('twilio', $1, now(), $2)
		ON CONFLICT DO NOTHING`

	if s.AddressHash == nil {
		return postgres.ErrNoSecret
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
			_, err := s.Lift(ctx, tx, notification.SMS, answer.Number, notification.SuppressedOptOut)
			return err
		}
		var rows postgres.Suppressions
		rows.Add(s.AddressKeys(), notification.SMS, answer.Number, notification.SuppressedOptOut, "", time.Now())
		batch := &pgx.Batch{}
		rows.Queue(batch)
		return tx.SendBatch(ctx, batch).Close()
	})
	return postgres.Wrap(err, "record an answer to a text message")
}
