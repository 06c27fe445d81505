package gateway

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// maxDevices limits the devices of one recipient.
const maxDevices = 50

// deviceID identifies a row d of recipient_device without its token, which is a secret.
const deviceID = `left(encode(sha256(convert_to(d.token, 'UTF8')), 'hex'), 32)`

// RegisterDevice gives a device to a recipient, makes it active and returns its id. An earlier
// recipient of the device gets nothing more on it. At the limit, RegisterDevice first removes
// inactive devices of the recipient; if that is not enough, the error is
// [notification.ErrManyDevices]. If the directory's devices are a view, the error is
// [notification.ErrForeignDevices].
func (s *Store) RegisterDevice(ctx context.Context, who notification.RecipientKey, token string) (id string, err error) {
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended(name, 7311)) FROM unnest(ARRAY[$1, $2]) AS name ORDER BY name"
	const others = `
		DELETE FROM recipient_device
		WHERE  token = $1
		AND    (user_type, user_id) <> ($2, $3)`
	const inactive = `
		DELETE FROM recipient_device
		WHERE  user_type = $1
		AND    user_id = $2
		AND    NOT active
		AND    (SELECT count(*) FROM recipient_device d WHERE d.user_type = $1 AND d.user_id = $2) >= $3`
	const insert = `
		INSERT INTO recipient_device AS d (user_type, user_id, token)
		SELECT $1, $2, $3
		WHERE  EXISTS (SELECT FROM recipient_device d WHERE d.user_type = $1 AND d.user_id = $2 AND d.token = $3)
		OR     (SELECT count(*) FROM recipient_device d WHERE d.user_type = $1 AND d.user_id = $2) < $4
		ON CONFLICT (user_type, user_id, token) DO UPDATE
		SET    active = true
		RETURNING ` + deviceID

	err = s.changeDevices(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(lock, token, who.String())
		batch.Queue(others, token, who.UserType, who.UserID)
		batch.Queue(inactive, who.UserType, who.UserID, maxDevices)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		found, err := postgres.Collect(ctx, tx, "register a device", pgx.RowTo[string], insert, who.UserType, who.UserID, token, maxDevices)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return notification.ErrManyDevices
		}
		id = found[0]
		return nil
	})
	return id, err
}

// RemoveDevice removes a recipient's device. If there is none, the error is
// [notification.ErrNoDevice]; if the directory's devices are a view, [notification.ErrForeignDevices].
func (s *Store) RemoveDevice(ctx context.Context, who notification.RecipientKey, id string) error {
	const query = `
		DELETE FROM recipient_device d
		WHERE  d.user_type = $1
		AND    d.user_id = $2
		AND    ` + deviceID + ` = $3`
	return s.changeDevices(ctx, func(tx pgx.Tx) error {
		removed, err := tx.Exec(ctx, query, who.UserType, who.UserID, id)
		if err == nil && removed.RowsAffected() == 0 {
			err = notification.ErrNoDevice
		}
		return err
	})
}

func (s *Store) changeDevices(ctx context.Context, change func(tx pgx.Tx) error) error {
	const query = "SELECT relkind IN ('r', 'p') FROM pg_class WHERE oid = to_regclass('recipient_device')"
	return postgres.Wrap(pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
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
