package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DeliveryDetail is everything that the database knows of one delivery.
type DeliveryDetail struct {
	DeliveryRow
	Provider          string       `json:"provider"` // the provider that has the message, or may have it; empty: none
	ProviderMessageID string       `json:"provider_message_id"`
	MemberRole        string       `json:"member_role"`    // the role in the entity through which the event named the recipient; empty: none
	HasText           bool         `json:"has_text"`       // false: it could not be rendered, and last_error says why
	DigestItems       int          `json:"digest_items"`   // deliveries in its digest, with this one; 0: no digest
	ReceiptFailed     bool         `json:"receipt_failed"` // a receipt made it FAILED
	MessagesBefore    []string     `json:"-"`              // the provider's ids of the messages before each retry
	Log               []AttemptRow `db:"-" json:"attempt_log"`
	Receipts          []ReceiptRow `db:"-" json:"receipts"`
	Retries           []RetryRow   `db:"-" json:"retries"`
}

// AttemptRow is an attempt: a row of delivery_attempt, or the attempt in flight.
type AttemptRow struct {
	Attempt        int                         `json:"attempt"`
	StartedAt      time.Time                   `json:"started_at"`
	EndedAt        *time.Time                  `json:"ended_at"` // nil: in flight, or its process died
	Outcome        notification.AttemptOutcome `json:"outcome"`
	ProviderStatus int                         `json:"provider_status"` // 0: no answer
	Detail         string                      `json:"detail"`
	TookSeconds    *float64                    `json:"took_seconds"` // the provider's response time; null: it was not called
}

// ReceiptRow is a row of delivery_receipt: a provider's report on a message that it had
// accepted. Receipts of a digest are about each of its items.
type ReceiptRow struct {
	At         time.Time           `json:"at"` // by the provider's clock
	ReceivedAt time.Time           `json:"received_at"`
	Provider   string              `json:"provider"`
	Status     string              `json:"status"`     // the provider's word
	Outcome    notification.Status `json:"outcome"`    // DELIVERED or FAILED; empty: it changes no status
	MessageID  string              `json:"message_id"` // the provider's; empty: it named none
	Detail     string              `json:"detail"`
	Earlier    bool                `db:"-" json:"of_earlier_message"` // a later message was sent
}

// RetryRow is a row of delivery_retry.
type RetryRow struct {
	RunID        string              `json:"run_id"`
	RetriedAt    time.Time           `json:"retried_at"`
	Again        bool                `json:"again"`
	StatusBefore notification.Status `json:"status_before"`
	ErrorBefore  string              `json:"error_before"`
}

// maxLog limits the attempts, receipts and retries that are read per delivery.
const maxLog = 50

// DeliveryOf finds the delivery of an event to one recipient over one channel. If there is
// none, the error is [notification.ErrNoDelivery].
func (r Reader) DeliveryOf(ctx context.Context, key DecisionKey) (id string, err error) {
	const query = `
		SELECT delivery_id
		FROM   notification
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3
		AND    channel = $4`

	if err := CheckUserType(ctx, r.Pool, key.UserType); err != nil {
		return "", err
	}
	id, err = db.One(ctx, r.Pool, "read delivery", pgx.RowTo[string], query, key.EventID, key.UserType, key.UserID, key.Channel)
	return id, db.NoRowsAs(err, notification.ErrNoDelivery)
}

// DeliveryDetail reads a delivery with its last 50 attempts, receipts and retries, oldest
// first. If the delivery does not exist, the error is [notification.ErrNoDelivery].
func (r Reader) DeliveryDetail(ctx context.Context, deliveryID string) (DeliveryDetail, error) {
	var found *DeliveryDetail
	var logs DeliveryDetail
	batch := &pgx.Batch{}
	queueRow(batch, &found, deliveryDetail, deliveryID)
	queueRows(batch, &logs.Log, attemptsOf, deliveryID, maxLog)
	queueRows(batch, &logs.Receipts, receiptsOf, deliveryID, maxLog)
	queueRows(batch, &logs.Retries, retriesOf, deliveryID, maxLog)
	if err := r.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return DeliveryDetail{}, db.Wrap(err, "read delivery")
	}
	if found == nil {
		return DeliveryDetail{}, notification.ErrNoDelivery
	}
	for i, r := range logs.Receipts {
		logs.Receipts[i].Earlier = !notification.Receipt{MessageID: r.MessageID}.Concerns(found.ProviderMessageID, found.MessagesBefore)
	}
	found.Log, found.Receipts, found.Retries = logs.Log, logs.Receipts, logs.Retries
	return *found, nil
}

const (
	// deliveryDetail reads the delivery $1 as a [DeliveryDetail], without its logs.
	deliveryDetail = `
		SELECT ` + DeliveryColumns + `,
		       coalesce(n.provider, '') AS provider,
		       coalesce(n.provider_message_id, '') AS provider_message_id,
		       coalesce(n.member_role, '') AS member_role,
		       n.title IS NOT NULL AND n.body IS NOT NULL AS has_text,
		       n.receipt_failed,
		       ARRAY (SELECT r.message_id_before FROM delivery_retry r WHERE r.delivery_id = n.delivery_id AND r.message_id_before IS NOT NULL)
		           AS messages_before,
		       (SELECT count(*) FROM notification d WHERE d.digest_id = n.digest_id) AS digest_items
		FROM   notification n
		WHERE  n.delivery_id = $1`
	// attemptsOf reads the last $2 attempts at the delivery $1 as [AttemptRow]s.
	attemptsOf = `
		SELECT *
		FROM   (
			SELECT attempt, started_at, ended_at, coalesce(outcome, '') AS outcome,
			       coalesce(provider_status, 0) AS provider_status, coalesce(detail, '') AS detail,
			       extract(epoch FROM took)::float8 AS took_seconds
			FROM   delivery_attempt
			WHERE  delivery_id = $1
			UNION ALL
			SELECT attempt_count, attempt_began, NULL, '', 0, '', NULL
			FROM   notification
			WHERE  delivery_id = $1
			AND    attempt_owner IS NOT NULL
			ORDER BY attempt DESC, ended_at DESC
			LIMIT  $2
		) a
		ORDER BY attempt, ended_at`
	// receiptsOf reads the last $2 receipts about the delivery $1 as [ReceiptRow]s.
	receiptsOf = `
		SELECT at, received_at, provider, status, outcome, message_id, detail
		FROM   (
			SELECT r.at, r.received_at, r.provider, r.receipt_id, r.status, coalesce(r.outcome, '') AS outcome,
			       coalesce(r.message_id, '') AS message_id, coalesce(r.detail, '') AS detail
			FROM   notification n
			JOIN   delivery_receipt r ON r.delivery_id IN (n.delivery_id, n.digest_id)
			WHERE  n.delivery_id = $1
			ORDER BY r.at DESC, r.received_at DESC, r.receipt_id DESC
			LIMIT  $2
		) r
		ORDER BY at, received_at, receipt_id`
	// retriesOf reads the last $2 retries of the delivery $1 as [RetryRow]s.
	retriesOf = `
		SELECT *
		FROM   (
			SELECT run_id, retried_at, again, status_before, coalesce(error_before, '') AS error_before
			FROM   delivery_retry
			WHERE  delivery_id = $1
			ORDER BY retried_at DESC, run_id
			LIMIT  $2
		) r
		ORDER BY retried_at, run_id`
)

// Escalation names the delivery that follows or may follow a delivery, and the delivery that it
// follows itself.
type Escalation struct {
	Escalates  bool                         `json:"escalates"`           // a row of event_type_escalation applied at planning
	To         notification.Channel         `json:"to,omitempty"`        // of that row; empty: none, or the row is gone
	Until      notification.EscalationUntil `json:"until,omitempty"`     // what it waits for
	FollowedBy string                       `json:"followed_by"`         // a delivery; empty: none
	From       string                       `json:"follows" db:"origin"` // the delivery that it follows; empty: its event planned it
}

// Escalation reads the escalation of a delivery. The zero value: nothing follows it, and it
// follows none.
func (r Reader) Escalation(ctx context.Context, deliveryID string) (Escalation, error) {
	const query = `
		SELECT n.escalates, coalesce(x.to_channel, '') AS "to", coalesce(x.until, '') AS until,
		       coalesce(f.delivery_id, '') AS followed_by, coalesce(n.escalated_from, '') AS origin
		FROM   notification n
		LEFT JOIN event_type_escalation x ON n.escalates AND x.event_type = n.event_type AND x.from_channel = n.channel
		LEFT JOIN notification f ON f.event_id = n.event_id AND f.user_type = n.user_type AND f.user_id = n.user_id
		       AND f.escalated_from = n.delivery_id
		WHERE  n.delivery_id = $1
		LIMIT  1`

	found, err := db.One(ctx, r.Pool, "read escalation", pgx.RowToStructByName[Escalation], query, deliveryID)
	return found, db.IgnoreNoRows(err)
}
