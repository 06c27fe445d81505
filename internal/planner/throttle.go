package planner

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// SaveLockedPlan stores the page that decide returns, like [Store.SavePlan], and its deliveries in the
// rows of throttle that keys name. Before it calls decide, it locks these rows. It then sets the last
// deliveries of the page's recipients and whether they were decided about, and counts the recipients
// that the event has selected. All is one transaction, so concurrent events take turns, and a crash
// changes nothing.
//
// As everywhere, it locks deliveries, by id, before it locks other rows: these are the older deliveries
// that the event may replace.
func (s Store) SaveLockedPlan(
	ctx context.Context, event notification.Event, page notification.RecipientPage, keys []notification.Throttle,
	decide func(notification.Used) ([]notification.DecidedRecipient, error),
) error {
	// Each statement has to see what others committed before it got the locks.
	err := pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		used, err := lockPlan(ctx, tx, event, page)
		if err != nil {
			return err
		}
		last, err := LockThrottles(ctx, tx, event.Type, keys)
		if err != nil {
			return err
		}
		notification.AddThrottles(page.Recipients, last)
		decided, err := decide(used)
		if err != nil {
			return err
		}
		if err := tx.SendBatch(ctx, planBatch(event, decided)).Close(); err != nil {
			return err
		}
		rows := PlannedRows(decided)
		if err := replace(ctx, tx, event, rows); err != nil || len(keys) == 0 {
			return err
		}
		planned := IdsOf(rows)
		keys = slices.DeleteFunc(slices.Clone(keys), func(k notification.Throttle) bool { return !slices.Contains(planned, k.DeliveryID) })
		_, err = tx.Exec(ctx, RecordThrottles, event.Type, keys)
		return err
	})
	return db.Wrap(err, "save plan")
}

// lockPlan makes plannings of an event take turns, and locks the deliveries that the event may replace. It
// counts the stored deliveries, by entity and channel, and finds the people who were decided about.
func lockPlan(ctx context.Context, tx pgx.Tx, event notification.Event, page notification.RecipientPage) (notification.Used, error) {
	const lock = `SELECT pg_advisory_xact_lock(hashtextextended('plan ' || $1::text, 0))`
	const decided = `
		SELECT d.user_type, d.user_id
		FROM   unnest($2::text[], $3::text[]) AS r (user_type, user_id)
		JOIN   notification_decision d USING (user_type, user_id)
		WHERE  d.event_id = $1`
	const selected = `
		SELECT CASE n.user_type WHEN 'CUSTOMER' THEN 'CUSTOMER/0' ELSE concat(n.entity_type, '/', n.entity_id) END || ' ' || n.channel, count(*)
		FROM   notification n
		WHERE  n.event_id = $1
		GROUP BY 1`

	people := page.Recipients
	userTypes, userIDs := make([]string, len(people)), make([]string, len(people))
	of := map[notification.RecipientKey]*notification.Recipient{}
	for i := range people {
		userTypes[i], userIDs[i] = string(people[i].UserType), people[i].UserID
		of[notification.RecipientKey{UserType: people[i].UserType, UserID: people[i].UserID}] = &people[i]
	}
	batch := &pgx.Batch{}
	batch.Queue(lock, event.ID)
	if event.CollapseKey != "" {
		batch.Queue(lockVersions, event.Type, event.CollapseKey)
		batch.Queue(lockDeliveries, event.Type, event.CollapseKey, userTypes, userIDs)
	}
	var who notification.RecipientKey
	db.QueueEach(batch, []any{&who.UserType, &who.UserID}, func() { of[who].Decided = true }, decided, event.ID, userTypes, userIDs)
	used := notification.Used{}
	if page.Limited() {
		db.QueueCounts(batch, used, selected, event.ID)
	}
	return used, tx.SendBatch(ctx, batch).Close()
}

// lastDelivery is the delivery of a row t of throttle, unless it ended FAILED or CANCELLED.
const lastDelivery = `coalesce(CASE WHEN NOT EXISTS (SELECT FROM notification n WHERE n.delivery_id = t.delivery_id
	AND n.status IN ('FAILED', 'CANCELLED')) THEN t.delivery_id END, '')`

// throttleKeys are the elements of $2 as rows k.
const throttleKeys = `jsonb_to_recordset($2)
	AS k (user_type text, user_id text, channel_type text, throttle_key text, delivery_id text, "window" bigint)`

// LockThrottles locks rows in the order of their keys, and returns their deliveries. It inserts
// missing rows. A second statement sees the end of a delivery that was stored while the first one waited
// for the row.
func LockThrottles(ctx context.Context, tx pgx.Tx, eventType string, keys []notification.Throttle) ([]notification.Throttle, error) {
	const lock = `
		INSERT INTO throttle AS t (user_type, user_id, event_type, channel_type, throttle_key)
		SELECT k.user_type, k.user_id, $1, k.channel_type, k.throttle_key
		FROM   ` + throttleKeys + `
		ORDER BY k.user_type, k.user_id, k.channel_type, k.throttle_key
		ON CONFLICT (user_type, user_id, event_type, channel_type, throttle_key) DO UPDATE
		SET    ends_at = t.ends_at`

	if len(keys) == 0 {
		return nil, nil
	}
	if _, err := tx.Exec(ctx, lock, eventType, keys); err != nil {
		return nil, err
	}
	return throttles(ctx, tx, eventType, keys)
}

// Throttles reads the last deliveries for keys of an event type.
func (s Store) Throttles(ctx context.Context, eventType string, keys []notification.Throttle) ([]notification.Throttle, error) {
	return throttles(ctx, s.Pool, eventType, keys)
}

func throttles(ctx context.Context, on db.Querier, eventType string, keys []notification.Throttle) ([]notification.Throttle, error) {
	const query = `
		SELECT t.user_type, t.user_id, t.channel_type AS channel, t.throttle_key AS key, ` + lastDelivery + ` AS delivery_id, t.began_at AS at
		FROM   throttle t
		JOIN   ` + throttleKeys + ` USING (user_type, user_id, channel_type, throttle_key)
		WHERE  t.event_type = $1`

	return db.Collect(ctx, on, "read throttles", db.ByName[notification.Throttle](), query, eventType, keys)
}

// RecordThrottles stores the planned deliveries in rows that are locked. A repeated call, or a
// delivery that was not stored, changes nothing.
const RecordThrottles = `
		UPDATE throttle t
		SET    delivery_id = k.delivery_id,
		       began_at    = m.began,
		       ends_at     = m.began + k.window / 1000 * interval '1 microsecond'
		FROM   (SELECT clock_timestamp() AS began) m, ` + throttleKeys + `
		WHERE  (t.user_type, t.user_id, t.event_type, t.channel_type, t.throttle_key) = (k.user_type, k.user_id, $1, k.channel_type,
		       k.throttle_key)
		AND    t.delivery_id IS DISTINCT FROM k.delivery_id
		AND    EXISTS (SELECT FROM notification n WHERE n.delivery_id = k.delivery_id
		       AND NOT (k.throttle_key = '` + notification.FirstOfDigest + `' AND n.strategy = 'AGGREGATE'))`
