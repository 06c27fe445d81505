package receipts

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/suppression"
)

// receiptChanges holds the changes that follow from new receipts.
type receiptChanges struct {
	moves        map[int64]*receiptMove // by notification.id
	followUps    []notification.FollowUp
	suppressions suppression.Suppressions
	choices      []preference.Choice
}

// bySendGrid is the changed_by of preferences that follow from receipts.
const bySendGrid = "sendgrid"

// receiptMove holds what receipts report about one delivery.
type receiptMove struct {
	ID        int64      `json:"id"` // notification.id
	Failed    bool       `json:"failed"`
	Delivered *time.Time `json:"delivered_at"` // time of arrival, by the provider's clock; nil: not reported
}

// add adds the changes from a receipt about some rows. It suppresses the address that the
// provider names, whatever the delivery's address is now.
func (c *receiptChanges) add(r notification.Receipt, rows []*receivedRow, keys []notification.AddressKey) {
	if r.Suppress != "" {
		c.suppressions.Add(keys, rows[0].Channel, r.Address, r.Suppress, r.Detail, r.At)
	}
	for _, row := range rows {
		if row.Attempts > 0 && r.Concerns(row.MessageID, row.MessagesBefore) {
			c.move(r, row)
		}
		if r.Unsubscribes || r.Resubscribes {
			made := preference.Choice{RecipientKey: notification.RecipientKey{UserType: row.UserType, UserID: row.UserID}, Category: row.Category,
				Channel: row.Channel,
				Enabled: r.Resubscribes, ReceiptOf: r.DeliveryID, Said: &r.At}
			if r.Resubscribes {
				made.Undoes = bySendGrid
			}
			c.choices = append(c.choices, made)
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
		to = &receiptMove{ID: row.ID, Failed: row.ReceiptFailed}
		if c.moves == nil {
			c.moves = map[int64]*receiptMove{}
		}
		c.moves[row.ID] = to
		if row.Escalates {
			c.followUps = append(c.followUps, notification.FollowUp{DeliveryID: row.DeliveryID, Kind: notification.FollowUpEscalation})
		}
	}
	switch {
	case r.Status == notification.Failed:
		if !to.Failed && !row.Failed {
			c.followUps = append(c.followUps, notification.FollowUp{DeliveryID: row.DeliveryID, Kind: notification.FollowUpDeadLetter})
		}
		to.Failed = true
	case to.Delivered == nil || r.At.Before(*to.Delivered):
		to.Delivered = &r.At
	}
}

func (c *receiptChanges) store(ctx context.Context, tx pgx.Tx) error {
	batch := &pgx.Batch{}
	queueMoves(batch, c.moves)
	queueFollowUps(batch, c.followUps)
	c.suppressions.Queue(batch)
	if len(c.choices) > 0 {
		preference.QueueChangedBy(batch, bySendGrid)
		preference.QueueChoices(batch, c.choices)
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// queueMoves moves deliveries, which are locked. A receipt may come before the end of the
// attempt is recorded, but it proves that the message was sent. The reason of a failure
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
		FROM   jsonb_to_recordset($1) AS m (id bigint, failed boolean, delivered_at timestamptz)
		WHERE  n.id = m.id`

	if len(moves) > 0 {
		batch.Queue(query, slices.Collect(maps.Values(moves)))
	}
}

// queueFollowUps writes rows of delivery_follow_up, and wakes the follow-up worker.
func queueFollowUps(batch *pgx.Batch, rows []notification.FollowUp) {
	const insert = `
		INSERT INTO delivery_follow_up (delivery_id, kind)
		SELECT "DeliveryID", "Kind"
		FROM   jsonb_to_recordset($1) AS f ("DeliveryID" text, "Kind" text)`

	if len(rows) > 0 {
		batch.Queue(insert, rows)
		batch.Queue("SELECT pg_notify('delivery_follow_up', '')")
	}
}
