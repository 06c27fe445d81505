package escalation

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
)

// Escalating reads the current state of a delivery that may escalate. If it does not exist,
// the error is [notification.ErrNoDelivery].
func (s Store) Escalating(ctx context.Context, key notification.EscalationKey) (notification.Escalating, error) {
	return escalating(ctx, s.Pool, key)
}

func escalating(ctx context.Context, on db.Querier, key notification.EscalationKey) (notification.Escalating, error) {
	const query = `
		SELECT now() AS now, n.event_type, n.status,
		       coalesce(n.last_error, '') AS reason,
		       n.send_after,
		       coalesce(` + db.Canceller + `, '') AS cancelled_by,
		       NOT n.escalates AS ended,
		       coalesce(n.status = 'PENDING' AND n.expires_at <= now(), false) AS expired,
		       o.read, o.told, o.followed,
		       CASE WHEN $3 <> '' THEN (
		           SELECT count(*)
		           FROM   notification c
		           WHERE  c.event_id = n.event_id
		           AND    c.channel = $2
		           AND    CASE WHEN $3 = 'CUSTOMER' THEN c.user_type = 'CUSTOMER' ELSE c.user_type <> 'CUSTOMER'
		               AND (c.entity_type, c.entity_id) = ($3, $4) END
		       ) ELSE 0 END AS selected
		FROM   notification n
		CROSS JOIN LATERAL (
			SELECT bool_or(o.read_at IS NOT NULL) AS read, bool_or(o.channel = $2) AS told,
			       coalesce(bool_or(o.escalated_from = n.delivery_id), false) AS followed
			FROM   notification o
			WHERE  o.event_id = n.event_id
			AND    o.user_type = n.user_type
			AND    o.user_id = n.user_id
		) o
		WHERE  n.delivery_id = $1`

	type row struct {
		notification.Escalating
		Reason notification.Decision
	}
	found, err := db.OneDelivery[row](ctx, on, "read delivery that is waited for", query, key.DeliveryID, key.To, key.Limited.Type,
		key.Limited.ID)
	found.Unreachable = found.Status == notification.Cancelled && found.Reason.Unreachable()
	return found.Escalating, err
}

// Follow locks a delivery, passes its state to decide, and stores the returned decision and
// its delivery, in one transaction. It returns the delivery that follows, perhaps from an
// earlier call; nil: none does. If an entity's number of recipients is limited, concurrent
// decisions about the entity take turns.
func (s Store) Follow(
	ctx context.Context, key notification.EscalationKey, decide func(notification.Escalating) *notification.DecidedRecipient,
) (*notification.Delivery, error) {
	const (
		turn = `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'max_recipients', event_id, $2::text, $3::text, $4::text), 0))
			FROM   notification
			WHERE  delivery_id = $1`
		lock = `SELECT FROM notification WHERE delivery_id = $1 FOR UPDATE`
	)
	var decided *notification.DecidedRecipient
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if key.Limited != (notification.Entity{}) {
			if _, err := tx.Exec(ctx, turn, key.DeliveryID, key.To, key.Limited.Type, key.Limited.ID); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, lock, key.DeliveryID); err != nil {
			return err
		}
		now, err := escalating(ctx, tx, key) // a second statement sees rows committed during the wait for the lock
		if err != nil {
			return err
		}
		var keys []notification.Throttle
		if key.Throttle != nil {
			keys = append(keys, *key.Throttle)
			if now.Throttles, err = planner.LockThrottles(ctx, tx, now.EventType, keys); err != nil {
				return err
			}
		}
		if decided = decide(now); decided == nil {
			return nil
		}
		return follow(ctx, tx, key.DeliveryID, *decided, keys)
	})
	if err != nil {
		return nil, db.Wrap(err, "plan what follows a delivery")
	}
	return s.follower(ctx, key.DeliveryID, decided)
}

// follow stores the decision, and the delivery that follows another one. It replaces an earlier
// decision about the channel.
func follow(
	ctx context.Context, tx pgx.Tx, deliveryID string, decided notification.DecidedRecipient, throttles []notification.Throttle,
) error {
	const of = `SELECT event_id, event_type, coalesce(correlation_id, '') FROM notification WHERE delivery_id = $1`

	var event notification.Event
	if err := tx.QueryRow(ctx, of, deliveryID).Scan(&event.ID, &event.Type, &event.CorrelationID); err != nil {
		return err
	}
	page := []notification.DecidedRecipient{decided}
	rows := planner.PlannedRows(page)
	batch := &pgx.Batch{}
	batch.Queue(planner.InsertFollower, event.ID, event.Type, page, rows, event.CorrelationID, deliveryID)
	batch.Queue(planner.NumberTaken, planner.IdsOf(rows))
	if len(throttles) > 0 {
		batch.Queue(planner.RecordThrottles, event.Type, throttles)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// Follower reads the delivery that follows deliveryID; nil: none.
func (s Store) Follower(ctx context.Context, deliveryID string) (*notification.Delivery, error) {
	return s.follower(ctx, deliveryID, nil)
}

// follower is [Store.Follower], with the recipient of the decision; nil: unknown. A merge may have
// moved deliveryID to another person than the decided recipient.
func (s Store) follower(ctx context.Context, deliveryID string, decided *notification.DecidedRecipient) (*notification.Delivery, error) {
	const query = attempt.SelectDeliveries + `
		JOIN   notification p ON p.delivery_id = $1 AND n.event_id = p.event_id
		       AND (n.user_type, n.user_id) = (coalesce($2, p.user_type), coalesce($3, p.user_id))
		WHERE  n.escalated_from = $1`

	var who notification.RecipientKey // zero: the recipient of deliveryID
	if decided != nil {
		who = notification.RecipientKey{UserType: decided.UserType, UserID: decided.UserID}
	}
	found, _, err := attempt.On(s.DB).ReadDeliveries(ctx, 1, query, deliveryID, db.Optional(who.UserType), db.Optional(who.UserID))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// EndEscalation ends the escalation of a delivery, so that nothing follows it, and returns
// whether it did. It does not if a delivery follows already. A worker then tells the
// workflow that waits.
func (s Store) EndEscalation(ctx context.Context, deliveryID string) (ended bool, err error) {
	const lock = `SELECT FROM notification WHERE delivery_id = $1 FOR UPDATE`
	// A second statement sees a follower that was stored while the first one waited for the
	// row.
	const end = `
		WITH ended AS (
			UPDATE notification n
			SET    escalates = false
			WHERE  n.delivery_id = $1
			AND    n.escalates
			AND    NOT EXISTS (
			           SELECT FROM notification f
			           WHERE  f.event_id = n.event_id AND f.user_type = n.user_type AND f.user_id = n.user_id AND f.escalated_from = n.delivery_id)
			RETURNING n.delivery_id
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'ESCALATION'
			FROM   ended
			RETURNING pg_notify('delivery_follow_up', '')
		)
		SELECT EXISTS (SELECT FROM ended), EXISTS (SELECT FROM told)`

	batch := &pgx.Batch{}
	batch.Queue(lock, deliveryID)
	batch.Queue(end, deliveryID).QueryRow(func(row pgx.Row) error { return row.Scan(&ended, nil) })
	err = s.Pool.SendBatch(ctx, batch).Close()
	return ended, db.Wrap(err, "end escalation")
}
