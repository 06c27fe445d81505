package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// SaveThrottledPlan locks the rows of throttle that keys name, and passes the last deliveries to
// decide. It stores the page that decide returns, like [Store.SavePlan], and its deliveries in the
// locked rows. All of that is one transaction, so concurrent events take turns, and a crash
// changes nothing.
func (s *Store) SaveThrottledPlan(ctx context.Context, event notification.Event, keys []notification.Throttle, decide func([]notification.Throttle) ([]notification.DecidedRecipient, error)) error {
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		last, err := lockThrottles(ctx, tx, event.Type, keys)
		if err != nil {
			return err
		}
		page, err := decide(last)
		if err != nil {
			return err
		}
		if err := savePlan(ctx, tx, event, page); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, recordThrottles, event.Type, keys)
		return err
	})
	return Wrap(err, "save plan")
}

// lastDelivery is the delivery of a row t of throttle, unless it ended FAILED or CANCELLED.
const lastDelivery = `coalesce(CASE WHEN NOT EXISTS (SELECT FROM notification n WHERE n.delivery_id = t.delivery_id AND n.status IN ('FAILED', 'CANCELLED')) THEN t.delivery_id END, '')`

// throttleKeys are the elements of $2 as rows k.
const throttleKeys = `jsonb_to_recordset($2) AS k (user_type text, user_id text, channel_type text, throttle_key text, delivery_id text, "window" bigint)`

// lockThrottles locks rows in the order of their keys, and returns their deliveries. It inserts
// missing rows.
func lockThrottles(ctx context.Context, tx pgx.Tx, eventType string, keys []notification.Throttle) ([]notification.Throttle, error) {
	const query = `
		INSERT INTO throttle AS t (user_type, user_id, event_type, channel_type, throttle_key)
		SELECT k.user_type, k.user_id, $1, k.channel_type, k.throttle_key
		FROM   ` + throttleKeys + `
		ORDER BY k.user_type, k.user_id, k.channel_type, k.throttle_key
		ON CONFLICT (user_type, user_id, event_type, channel_type, throttle_key) DO UPDATE
		SET    ends_at = t.ends_at
		RETURNING t.user_type, t.user_id, t.channel_type, t.throttle_key, ` + lastDelivery + `, t.began_at`

	return Collect(ctx, tx, "lock throttles", scanThrottle, query, eventType, keys)
}

// recordThrottles stores the planned deliveries in rows that are locked. A repeated call, or a
// delivery that was not stored, changes nothing.
const recordThrottles = `
		UPDATE throttle t
		SET    delivery_id = k.delivery_id,
		       began_at    = m.began,
		       ends_at     = m.began + k.window / 1000 * interval '1 microsecond'
		FROM   (SELECT clock_timestamp() AS began) m, ` + throttleKeys + `
		WHERE  (t.user_type, t.user_id, t.event_type, t.channel_type, t.throttle_key) = (k.user_type, k.user_id, $1, k.channel_type, k.throttle_key)
		AND    t.delivery_id IS DISTINCT FROM k.delivery_id
		AND    EXISTS (SELECT FROM notification n WHERE n.delivery_id = k.delivery_id AND NOT (k.throttle_key = '` + notification.FirstOfDigest + `' AND n.strategy = 'AGGREGATE'))`

// ReadThrottles adds the last deliveries for an event type to people.
func (s *Store) ReadThrottles(ctx context.Context, eventType string, people []notification.Recipient) error {
	const query = `
		SELECT t.user_type, t.user_id, t.channel_type, t.throttle_key, ` + lastDelivery + `, t.began_at
		FROM   throttle t
		JOIN   ` + throttleKeys + ` USING (user_type, user_id)
		WHERE  t.event_type = $1
		AND    t.ends_at > now()`

	keys := make([]notification.ThrottleKey, len(people))
	for i, person := range people {
		keys[i] = notification.ThrottleKey{UserType: person.UserType, UserID: person.UserID}
	}
	last, err := Collect(ctx, s.Pool, "read throttles", scanThrottle, query, eventType, keys)
	notification.AddThrottles(people, last)
	return err
}

func scanThrottle(row pgx.CollectableRow) (notification.Throttle, error) {
	var t notification.Throttle
	err := row.Scan(&t.UserType, &t.UserID, &t.Channel, &t.Key, &t.DeliveryID, orZero{&t.At})
	return t, err
}

// DeleteThrottles deletes up to limit rows whose window is over, and returns their number.
func (s *Store) DeleteThrottles(ctx context.Context, limit int) (int, error) {
	const query = `
		DELETE FROM throttle
		WHERE  (user_type, user_id, event_type, channel_type, throttle_key) IN (
		           SELECT user_type, user_id, event_type, channel_type, throttle_key
		           FROM   throttle
		           WHERE  ends_at < now() - interval '1 minute' -- a transaction that locks the row may need it
		           ORDER BY ends_at
		           LIMIT  $1
		           FOR UPDATE SKIP LOCKED)`

	tag, err := s.Pool.Exec(ctx, query, limit)
	return int(tag.RowsAffected()), Wrap(err, "delete throttles")
}
