package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// endAttempt is the end of a query that begins with the attempts that ended: item.
// It records how, on the attempts, on their deliveries and on devices that proved
// dead. Recording it twice changes nothing the second time. A status only climbs:
// what was sent stays sent, even if it was cancelled while the provider was
// already accepting it.
//
// For a delivery that this marks as sent it returns the time since its event was
// written; NULL where its rules delayed it, or an operator had it made once more.
const endAttempt = `, ended AS (
			UPDATE delivery_attempt a
			SET    ended_at        = now(),
			       outcome         = $3,
			       provider_status = nullif($4, 0),
			       detail          = nullif($6, '')
			FROM   item i
			WHERE  a.delivery_id = i.delivery_id
			AND    a.attempt = i.attempt
			AND    a.ended_at IS NULL
			RETURNING a.delivery_id
		), dead AS (
			UPDATE recipient_device d
			SET    active = false
			WHERE  d.token = ANY ($7)
			AND    (d.user_type, d.user_id) IN (SELECT n.user_type, n.user_id FROM notification n JOIN item USING (delivery_id))
		)
		UPDATE notification n
		SET    status              = CASE $3 WHEN 'SENT' THEN 'SENT' ELSE n.status END,
		       sent_at             = CASE $3 WHEN 'SENT' THEN now() ELSE n.sent_at END,
		       provider_message_id = CASE $3 WHEN 'SENT' THEN nullif($5, '') ELSE n.provider_message_id END,
		       last_error          = nullif($6, ''),
		       digest_id           = CASE $3 WHEN 'SENT' THEN coalesce(nullif($8, ''), n.digest_id) ELSE n.digest_id END
		FROM   ended e
		WHERE  n.delivery_id = e.delivery_id
		AND    (n.status IN ('PENDING', 'FAILED') OR (n.status = 'CANCELLED' AND $3 = 'SENT'))
		RETURNING CASE
		    WHEN n.status = 'SENT' AND n.strategy = 'IMMEDIATE' AND n.send_after IS NULL
		         AND NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)
		    THEN greatest(now() - (SELECT o.created_at FROM event_outbox o WHERE o.event_id = n.event_id), '0')
		    END`

// EndAttempt records how an attempt ended, in one statement. It returns how old
// the event is that was told of; 0: not sent, or delayed on purpose.
func (s *Store) EndAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error) {
	const query = `
		WITH item AS (
			SELECT $1::text AS delivery_id, $2::int AS attempt
		)` + endAttempt

	var age *time.Duration // nil: not to be measured
	err := s.Pool.QueryRow(ctx, query, result.DeliveryID, result.Number, string(result.Outcome), result.ProviderStatus,
		result.ProviderID, result.Detail, result.DeadDevices, "").Scan(&age)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil // recorded before, or its delivery stays as it is
	case err != nil:
		return 0, fmt.Errorf("end attempt: %w", err)
	case age == nil:
		return 0, nil
	default:
		return *age, nil
	}
}

// EndDigestAttempt records how an attempt at a digest ended, on each of its items,
// as [Store.EndAttempt] does for one.
func (s *Store) EndDigestAttempt(ctx context.Context, result notification.DigestResult) error {
	const query = `
		WITH item AS (
			SELECT *
			FROM   unnest($1::text[], $2::int[]) AS i (delivery_id, attempt)
		)` + endAttempt

	ids, attempts := make([]string, len(result.Items)), make([]int, len(result.Items))
	for i, item := range result.Items {
		ids[i], attempts[i] = item.DeliveryID, item.Attempt
	}
	_, err := s.Pool.Exec(ctx, query, ids, attempts, string(result.Outcome), result.ProviderStatus,
		result.ProviderID, result.Detail, result.DeadDevices, result.DigestID)
	if err != nil {
		return fmt.Errorf("end attempt at digest: %w", err)
	}
	return nil
}
