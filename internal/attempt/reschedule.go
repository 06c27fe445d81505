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
		       CASE WHEN n.sent_at IS NOT NULL THEN coalesce(n.provider, '') ELSE '' END, coalesce(n.provider_message_id, ''),
		       greatest(n.attempt_until - now(), '0'),
		       n.strategy = 'AGGREGATE',
		       CASE WHEN ` + db.Waits + ` THEN least(greatest(n.send_after, n.next_attempt_at), n.expires_at) END,
		       CASE WHEN n.operator_time = 'LATER' THEN '` + notification.WaitOperator + `'
		            WHEN n.attempt_count > 0 AND n.next_attempt_at > now() THEN '` + notification.WaitRetry + `'
		            WHEN EXISTS (SELECT FROM counted_message c WHERE c.message_id = n.delivery_id AND c.waits) THEN '` + notification.WaitCap + `'
		            WHEN n.strategy = 'DELAYED' THEN '` + notification.WaitDelay + `'
		            ELSE '` + notification.WaitQuietHours + `' END,
		       coalesce(r.timezone, 'UTC')
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
	var id, why, timezone string
	var inDigest bool
	var a notification.Attempt
	now := time.Now()
	fields := []any{&id, &a.Status, &a.ReceiptFailed, &a.Provider, &a.ProviderMessageID, &a.LeasedFor, &inDigest, db.OrZero(&a.NotBefore), &why, &timezone}
	return db.Each(ctx, s.Pool, "read statuses", fields, func() {
		switch a.Wait, a.InDigest = "", false; {
		case !a.Due() || a.LeasedFor > 0:
			a.Verdict = notification.Verdict{}
		case inDigest:
			a.Verdict, a.InDigest = notification.Verdict{}, true
		case !a.NotBefore.IsZero():
			a.NotBefore, a.Wait = a.NotBefore.UTC(), waitText(a.NotBefore, now, timezone, why)
		}
		begun[id] = a
	}, query, others)
}

// waitText explains a wait. Its time is the recipient's, if the recipient's clock is the reason.
func waitText(until, now time.Time, timezone, why string) string {
	if why == notification.WaitOperator || why == notification.WaitRetry {
		return notification.InstantText(until) + ": " + why
	}
	return notification.WaitText(until, now, timezone, why)
}
