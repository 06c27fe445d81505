package inbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// deviceID identifies a row d of recipient_device without its token, which is a secret.
const deviceID = `left(encode(sha256(convert_to(d.token, 'UTF8')), 'hex'), 32)`

// RegisterDevice gives a device to a recipient, makes it active and returns its id. An earlier
// recipient of the device gets nothing more on it. Over [db.MaxDevices], inactive devices of
// the recipient leave, then the oldest ones. If the directory's devices are a view, the error is
// [notification.ErrForeignDevices].
func (s Store) RegisterDevice(ctx context.Context, who notification.RecipientKey, token string) (id string, err error) {
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended(name, 7311)) FROM unnest(ARRAY[$1, $2]) AS name ORDER BY name"
	const others = `
		DELETE FROM recipient_device
		WHERE  token = $1
		AND    (user_type, user_id) <> ($2, $3)`
	const insert = `
		INSERT INTO recipient_device AS d (user_type, user_id, token, registered_at)
		VALUES ($1, $2, $3, clock_timestamp())
		ON CONFLICT (user_type, user_id, token) DO UPDATE
		SET    active        = true,
		       registered_at = excluded.registered_at
		RETURNING ` + deviceID
	const oldest = `
		DELETE FROM recipient_device
		WHERE  user_type = $1
		AND    user_id = $2
		AND    token IN (
		           SELECT token
		           FROM   recipient_device
		           WHERE  user_type = $1
		           AND    user_id = $2
		           ORDER BY active DESC, registered_at DESC, token
		           OFFSET $3)`

	err = s.changeDevices(ctx, func(tx pgx.Tx) error {
		who, err := db.Present(ctx, tx, who)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(lock, token, who.String())
		batch.Queue(others, token, who.UserType, who.UserID)
		batch.Queue(insert, who.UserType, who.UserID, token).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		batch.Queue(oldest, who.UserType, who.UserID, db.MaxDevices)
		return tx.SendBatch(ctx, batch).Close()
	})
	return id, err
}

// RemoveDevice removes a recipient's device. If there is none, the error is
// [notification.ErrNoDevice]; if the directory's devices are a view, [notification.ErrForeignDevices].
func (s Store) RemoveDevice(ctx context.Context, who notification.RecipientKey, id string) error {
	const query = `
		DELETE FROM recipient_device d
		WHERE  d.user_type = $1
		AND    d.user_id = $2
		AND    ` + deviceID + ` = $3`
	return s.changeDevices(ctx, func(tx pgx.Tx) error {
		who, err := db.Present(ctx, tx, who)
		if err != nil {
			return err
		}
		removed, err := tx.Exec(ctx, query, who.UserType, who.UserID, id)
		if err == nil && removed.RowsAffected() == 0 {
			err = notification.ErrNoDevice
		}
		return err
	})
}

func (s Store) changeDevices(ctx context.Context, change func(tx pgx.Tx) error) error {
	const query = "SELECT relkind IN ('r', 'p') FROM pg_class WHERE oid = to_regclass('recipient_device')"
	return db.Wrap(pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		var table bool
		if err := tx.QueryRow(ctx, query).Scan(&table); err != nil {
			return err
		}
		if !table {
			return notification.ErrForeignDevices
		}
		return change(tx)
	}), "change devices")
}
