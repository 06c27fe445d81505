package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// receiptChanges holds the changes that follow from new receipts.
type receiptChanges struct {
	moves        map[int64]*receiptMove // by notification.id
	followUps    followUps
	suppressions suppressions
	unsubscribed unsubscriptions
}

// receiptMove holds what receipts report about one delivery.
type receiptMove struct {
	failed    bool
	delivered *time.Time // time of arrival, by the provider's clock; nil: not reported
}

// add adds the changes from a receipt about some rows. It suppresses the address that the
// provider names, whatever the delivery's address is now.
func (c *receiptChanges) add(r notification.Receipt, rows []*receivedRow, keys []notification.AddressKey) {
	if r.Suppress != "" {
		c.suppressions.add(keys, rows[0].Channel, r.Address, r.Suppress, r.Detail, r.At)
	}
	for _, row := range rows {
		if row.Attempts > 0 && r.Concerns(row.MessageID, row.MessagesBefore) {
			c.move(r, row)
		}
		if r.Unsubscribes {
			who := notification.RecipientKey{UserType: row.UserType, UserID: row.UserID}
			c.unsubscribed = append(c.unsubscribed, unsubscription{who, row.Category, row.Channel})
		}
	}
}

// move raises a delivery to the status of the receipt. It adds the dead letter of a failure
// once.
func (c *receiptChanges) move(r notification.Receipt, row *receivedRow) {
	if r.Status != notification.Delivered && r.Status != notification.Failed {
		return
	}
	to := c.moves[row.ID]
	if to == nil {
		to = &receiptMove{failed: row.ReceiptFailed}
		if c.moves == nil {
			c.moves = map[int64]*receiptMove{}
		}
		c.moves[row.ID] = to
		if row.Escalates {
			c.followUps.add(row.DeliveryID, notification.FollowUpEscalation)
		}
	}
	switch {
	case r.Status == notification.Failed:
		if !to.failed && !row.Failed {
			c.followUps.add(row.DeliveryID, notification.FollowUpDeadLetter)
		}
		to.failed = true
	case to.delivered == nil || r.At.Before(*to.delivered):
		to.delivered = &r.At
	}
}

func (c *receiptChanges) store(ctx context.Context, tx pgx.Tx) error {
	batch := &pgx.Batch{}
	queueMoves(batch, c.moves)
	c.followUps.queue(batch)
	c.suppressions.queue(batch)
	c.unsubscribed.queue(batch, "sendgrid")
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// queueMoves moves deliveries, which are locked. A receipt may come before the end of the
// attempt is recorded: then the message was sent all the same. The reason of a failure
// comes from all receipts, since an earlier receipt may have another reason.
func queueMoves(batch *pgx.Batch, moves map[int64]*receiptMove) {
	const query = `
		UPDATE notification_state n
		SET    status         = CASE WHEN m.failed THEN 'FAILED' ELSE 'DELIVERED' END,
		       receipt_failed = m.failed,
		       sent_at        = coalesce(n.sent_at, now()),
		       delivered_at   = least(n.delivered_at, m.delivered_at),
		       available_at   = coalesce(n.available_at, now()),
		       last_error     = CASE WHEN m.failed THEN coalesce((
		           SELECT CASE r.status WHEN 'bounce' THEN 'bounced' ELSE r.status END || coalesce(': ' || r.detail, '')
		           FROM   delivery_receipt r
		           WHERE  r.delivery_id IN (n.delivery_id, n.digest_id)
		           AND    r.outcome = 'FAILED'
		           AND    coalesce(r.message_id = n.provider_message_id, r.message_id <> ALL (ARRAY (
		               SELECT t.message_id_before
		               FROM   delivery_retry t
		               WHERE  t.delivery_id = n.delivery_id
		               AND    t.message_id_before IS NOT NULL)), true)
		           ORDER BY r.at, r.receipt_id
		           LIMIT  1), n.last_error) END
		FROM   unnest($1::bigint[], $2::boolean[], $3::timestamptz[]) AS m (id, failed, delivered_at)
		WHERE  n.id = m.id`

	var ids []int64
	var failed []bool
	var delivered []*time.Time
	for id, to := range moves {
		ids, failed, delivered = append(ids, id), append(failed, to.failed), append(delivered, to.delivered)
	}
	if len(ids) > 0 {
		batch.Queue(query, ids, failed, delivered)
	}
}

// followUps holds rows of delivery_follow_up.
type followUps struct{ deliveries, kinds []string }

func (f *followUps) add(deliveryID string, kind notification.FollowUpKind) {
	f.deliveries, f.kinds = append(f.deliveries, deliveryID), append(f.kinds, string(kind))
}

// queue writes the rows, and wakes the follow-up worker.
func (f *followUps) queue(batch *pgx.Batch) {
	const insert = `
		INSERT INTO delivery_follow_up (delivery_id, kind)
		SELECT *
		FROM   unnest($1::text[], $2::text[])`

	if len(f.deliveries) > 0 {
		batch.Queue(insert, f.deliveries, f.kinds)
		batch.Queue("SELECT pg_notify('delivery_follow_up', '')")
	}
}

// ListenFollowUps calls wake whenever somebody writes to delivery_follow_up, until ctx
// ends. A wake-up is only a hint, as in [Store.ListenEvents].
func (s *Store) ListenFollowUps(ctx context.Context, wake func()) {
	s.listen(ctx, "delivery_follow_up", wake)
}

// FollowUps reads the oldest follow-ups, up to limit of each kind. So a delay of one kind
// does not hold up the other.
func (s *Store) FollowUps(ctx context.Context, limit int) ([]notification.FollowUp, error) {
	const query = `
		SELECT f.id, f.delivery_id, f.kind
		FROM   unnest(array['DEAD_LETTER', 'ESCALATION']) AS k (kind)
		CROSS JOIN LATERAL (
			SELECT id, delivery_id, kind
			FROM   delivery_follow_up
			WHERE  kind = k.kind
			ORDER BY id
			LIMIT  $1
		) AS f
		ORDER BY f.id`

	return collect(ctx, s.Pool, "read what follows receipts", pgx.RowToStructByName[notification.FollowUp], query, limit)
}

// EndFollowUps deletes follow-ups that are done.
func (s *Store) EndFollowUps(ctx context.Context, ids []int64) error {
	return s.exec(ctx, "end what follows receipts", "DELETE FROM delivery_follow_up WHERE id = ANY ($1)", ids)
}

// FollowUpState reads the number of follow-ups, and the age of the oldest.
func (s *Store) FollowUpState(ctx context.Context) (notification.FollowUpState, error) {
	const query = `
		SELECT count(*), coalesce(greatest(clock_timestamp() - min(since), '0'), '0')
		FROM  (SELECT since
		       FROM   delivery_follow_up
		       ORDER BY id
		       LIMIT  $1) AS first`

	return one(ctx, s.Pool, "read what follows receipts", pgx.RowToStructByPos[notification.FollowUpState], query, MostCounted)
}

// DeadLetterOf reads the dead letter of a FAILED delivery. It returns false if an operator
// has retried the delivery, or it is gone.
func (s *Store) DeadLetterOf(ctx context.Context, deliveryID string) (notification.DeadLetter, bool, error) {
	const query = deadLetter + `
		WHERE  delivery_id = $1
		AND    status = 'FAILED'`

	letter, err := readDeadLetter(s.Pool.QueryRow(ctx, query, deliveryID))
	if errors.Is(err, notification.ErrNoDelivery) {
		return notification.DeadLetter{}, false, nil
	}
	return letter, err == nil, err
}
