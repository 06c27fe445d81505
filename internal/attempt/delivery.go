package attempt

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/cancel"
	"herald/internal/db"
	"herald/internal/notification"
)

// DeliveryState is the state of a delivery that operators' commands need.
type DeliveryState struct {
	Status    notification.Status
	Channel   notification.Channel
	EventID   string
	EventType string
	Aggregate notification.Entity // zero: the event's row was purged
	UserType  notification.UserType
	UserID    string
	Priority  notification.Priority
	Attempts  int
	LastError string // empty: none
	SentAt    *time.Time

	Withdrawn string     // by another event: [notification.CancelledBy] or [notification.ReplacedBy]; empty: not
	Number    int64      // notification.id
	UnderWay  bool       // an attempt is being made
	ExpiredAt *time.Time // nil: it has not expired
}

// DeliveryState reads the state of a delivery. If the delivery does not exist, the error is
// [notification.ErrNoDelivery].
func (s Store) DeliveryState(ctx context.Context, deliveryID string) (DeliveryState, error) {
	const query = `
		SELECT n.status, n.channel, n.event_id, n.event_type,
		       coalesce(e.aggregate_type, '') AS aggregate_type,
		       coalesce(e.aggregate_id, '') AS aggregate_id,
		       n.user_type, n.user_id, n.priority,
		       n.attempt_count AS attempts,
		       coalesce(n.last_error, '') AS last_error,
		       n.sent_at,
		       coalesce(` + db.Withdrawal + `, '') AS withdrawn,
		       n.id AS number,
		       coalesce(n.attempt_until > now(), false) AS under_way,
		       CASE WHEN n.expires_at <= now() THEN n.expires_at END AS expired_at
		FROM   notification n
		LEFT JOIN event_outbox e USING (event_id)
		WHERE  n.delivery_id = $1`

	return db.OneDelivery[DeliveryState](ctx, s.Pool, "read delivery", query, deliveryID)
}

// GiveUp ends a delivery that will not be sent, as FAILED or CANCELLED, and returns its
// status after that. If another event withdraws the delivery, that is the reason of a
// cancellation. A delivery that was sent meanwhile stays sent, or FAILED by a receipt. A delivery to
// cancel stays PENDING while an attempt at its digest is in flight, and its workflow asks again.
func (s Store) GiveUp(
	ctx context.Context, deliveryID string, status notification.Status, reason string,
) (now notification.Status, err error) {
	const read = `SELECT status FROM notification WHERE delivery_id = $1`

	if status == notification.Failed {
		err = s.fail(ctx, deliveryID, reason)
	} else {
		_, _, err = cancel.On(s.DB).Cancel(ctx, cancel.Cancellation{
			Which: "n.delivery_id = $1 AND NOT (" + digestUnderWay + ")", Args: []any{deliveryID}, Reason: reason, Limit: 1, Own: true,
		})
	}
	if err != nil {
		return "", err
	}
	now, err = db.One(ctx, s.Pool, "give up delivery", pgx.RowTo[notification.Status], read, deliveryID)
	err = db.NoRowsAs(err, notification.ErrNoDelivery)
	return now, err
}

// fail ends a delivery as FAILED, and stores the follow-up that publishes its dead letter. A failed
// delivery to a person who was erased keeps its reason. If all attempts died with their processes, the
// first attempt counts as ended now.
func (s Store) fail(ctx context.Context, deliveryID, reason string) error {
	const query = `
		WITH failed AS (
			UPDATE notification n
			SET    status       = 'FAILED',
			       last_error   = $2,
			       available_at = CASE WHEN attempt_count > 0 THEN coalesce(available_at, now()) ELSE available_at END
			WHERE  n.delivery_id = $1
			AND    ` + cancel.MayEnd + `
			RETURNING n.delivery_id, n.channel
		)
		INSERT INTO delivery_follow_up (delivery_id, kind)
		SELECT delivery_id, 'DEAD_LETTER'
		FROM   failed
		WHERE  channel <> ALL ($3)
		RETURNING pg_notify('delivery_follow_up', '')`

	return s.Exec(ctx, "give up delivery", query, deliveryID, reason, bestEffort())
}

// digestUnderWay reports whether an attempt at the digest of a delivery n is in flight.
const digestUnderWay = `n.digest_id IS NOT NULL AND coalesce(n.attempt_until > now(), false)`
