package attempt

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

const (

	// movedMeanwhile reports whether an operator set the time of the delivery n during its attempt. The
	// end of the attempt then keeps that time.
	movedMeanwhile = `coalesce(n.next_attempt_at > n.attempt_began AND n.digest_id IS NULL, false)`
)

// Reschedule stores when an operator wants a delivery to be sent; zero: now, even in quiet hours. If
// the delivery is an item of a digest, its digest moves: all items that wait for it. A delivery that
// is not PENDING stays as it is.
func (s Store) Reschedule(ctx context.Context, deliveryID string, until time.Time) error {
	const single = `
		UPDATE notification
		SET    send_after      = CASE WHEN $2::timestamptz IS NOT NULL THEN $2 WHEN send_after IS NOT NULL THEN clock_timestamp() END,
		       next_attempt_at = coalesce($2, clock_timestamp()),
		       operator_time   = CASE WHEN $2 IS NULL THEN 'NOW' ELSE 'LATER' END
		WHERE  delivery_id = $1
		AND    status = 'PENDING'
		AND    strategy <> 'AGGREGATE'`
	const digest = `
		UPDATE notification n
		SET    next_attempt_at = coalesce($2, clock_timestamp()),
		       operator_time   = CASE WHEN $2::timestamptz IS NULL THEN 'NOW' ELSE 'LATER' END
		WHERE  n.id = ANY (ARRAY (
			SELECT o.id
			FROM   notification d
			JOIN   notification o USING (user_type, user_id, channel, event_type)
			WHERE  d.delivery_id = $1
			AND    d.strategy = 'AGGREGATE'
			AND    d.status = 'PENDING'
			AND    o.strategy = 'AGGREGATE'
			AND    o.status = 'PENDING'
			ORDER BY o.id
			FOR UPDATE OF o))`

	batch := &pgx.Batch{}
	batch.Queue(single, deliveryID, db.Optional(until))
	batch.Queue(digest, deliveryID, db.Optional(until))
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "reschedule delivery")
}

// readStatuses reads the rows of the deliveries that were not begun.
func (s Store) readStatuses(ctx context.Context, ids []string, begun attempts) error {
	const query = `
		SELECT n.delivery_id, n.status, n.receipt_failed,
		       CASE WHEN n.sent_at IS NOT NULL THEN coalesce(n.provider, '') ELSE '' END AS provider,
		       coalesce(n.provider_message_id, '') AS provider_message_id,
		       coalesce(greatest(n.attempt_until - now(), '0'), '0') AS leased_for,
		       n.strategy = 'AGGREGATE' AS in_digest,
		       CASE WHEN ` + db.Waits + ` THEN least(greatest(n.send_after, n.next_attempt_at), n.expires_at) END AS not_before,
		       CASE WHEN n.operator_time = 'LATER' THEN '` + notification.WaitOperator + `'
		            WHEN n.attempt_count > 0 AND n.next_attempt_at > now() THEN '` + notification.WaitRetry + `'
		            WHEN EXISTS (SELECT FROM counted_message c WHERE c.message_id = n.delivery_id AND c.waits) THEN '` + notification.WaitCap + `'
		            WHEN n.strategy = 'DELAYED' THEN '` + notification.WaitDelay + `'
		            ELSE '` + notification.WaitQuietHours + `' END AS why,
		       coalesce(r.timezone, 'UTC') AS timezone
		FROM   notification n
		` + db.RecipientOf + `
		WHERE  n.delivery_id = ANY ($1)`

	var others []string
	for _, id := range ids {
		if _, found := begun[id]; !found {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return nil
	}
	type row struct {
		DeliveryID, Why, Timezone string
		notification.Attempt
	}
	now := time.Now()
	rows, err := db.Collect(ctx, s.Pool, "read statuses", db.ByName[row](), query, others)
	for _, row := range rows {
		a := row.Attempt
		a.InDigest = false
		switch {
		case !a.Due() || a.LeasedFor > 0:
			a.Verdict = notification.Verdict{}
		case row.InDigest:
			a.Verdict, a.InDigest = notification.Verdict{}, true
		case !a.NotBefore.IsZero():
			a.Wait = waitText(a.NotBefore, now, row.Timezone, row.Why)
		}
		begun[row.DeliveryID] = a
	}
	return err
}

// waitText explains a wait. Its time is the recipient's, if the recipient's clock is the reason.
func waitText(until, now time.Time, timezone, why string) string {
	if why == notification.WaitOperator || why == notification.WaitRetry {
		return notification.InstantText(until) + ": " + why
	}
	return notification.WaitText(until, now, timezone, why)
}
