package postgres

import (
	"context"

	"herald/internal/notification"
)

// EndAttempt records how an attempt ended, in one statement: on the attempt itself,
// and on its delivery, or on each item of its digest. Recording it twice changes
// nothing the second time. A status only climbs: what was sent stays sent, even if it
// was cancelled while the provider was already accepting it; and what was acknowledged
// before this recorded that it was sent stays DELIVERED. What a receipt said before this
// stands, too.
//
// Then it suppresses an address that the provider says is not to be written to, and
// switches off devices that proved dead. Where that fails, it is said on the
// attempt and in the result, and is no error: the directory may be somebody's views.
func (s *Store) EndAttempt(ctx context.Context, result notification.AttemptResult) (notification.RecordedAttempt, error) {
	const query = `
		WITH item AS (
			SELECT *
			FROM   unnest($1::text[], $2::int[]) AS i (delivery_id, attempt)
		), ended AS (
			UPDATE delivery_attempt a
			SET    ended_at        = now(),
			       outcome         = $3,
			       provider_status = nullif($4, 0),
			       detail          = nullif($6, ''),
			       took            = nullif($8::interval, '0')
			FROM   item i
			WHERE  a.delivery_id = i.delivery_id
			AND    a.attempt = i.attempt
			AND    a.ended_at IS NULL
			RETURNING a.delivery_id
		), recorded AS (
			UPDATE notification n
			SET    status              = CASE WHEN $3 = 'SENT' AND n.status <> 'DELIVERED' AND NOT n.receipt_failed THEN 'SENT' ELSE n.status END,
			       sent_at             = CASE WHEN $3 = 'SENT' AND n.status <> 'DELIVERED' AND NOT n.receipt_failed THEN now() ELSE n.sent_at END,
			       available_at        = coalesce(n.available_at, now()),
			       provider_message_id = CASE $3 WHEN 'SENT' THEN nullif($5, '') ELSE n.provider_message_id END,
			       last_error          = CASE WHEN n.receipt_failed THEN n.last_error ELSE nullif($6, '') END,
			       digest_id           = CASE $3 WHEN 'SENT' THEN coalesce(nullif($7, ''), n.digest_id) ELSE n.digest_id END
			FROM   ended e
			WHERE  n.delivery_id = e.delivery_id
			AND    (n.status IN ('PENDING', 'FAILED') OR (n.status IN ('CANCELLED', 'DELIVERED') AND $3 = 'SENT'))
			RETURNING CASE
			    WHEN n.status IN ('SENT', 'DELIVERED') AND n.strategy = 'IMMEDIATE' AND n.send_after IS NULL
			         AND NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)
			    THEN greatest(now() - (SELECT o.created_at FROM event_outbox o WHERE o.event_id = n.event_id), '0')
			    END AS age
		)
		SELECT coalesce(max(age), '0')
		FROM   recorded`

	ids, numbers := attemptsOf(result)
	var recorded notification.RecordedAttempt
	err := s.Pool.QueryRow(ctx, query, ids, numbers, string(result.Outcome), result.ProviderStatus,
		result.ProviderID, result.Detail, result.DigestID, result.Took).Scan(&recorded.Age)
	if err == nil && len(result.DeadDevices) > 0 {
		recorded.DeadTokensKept = s.switchOff(ctx, result.DeadDevices, ids, numbers)
	}
	if err == nil && result.Suppress != "" && s.AddressHash != nil {
		err = s.suppressAddressee(ctx, ids, result)
	}
	return recorded, wrap(err, "end attempt")
}

// suppressAddressee has nothing sent any more to the address that an attempt was made to.
// All items of a digest go to one.
func (s *Store) suppressAddressee(ctx context.Context, ids []string, result notification.AttemptResult) error {
	const query = `
		SELECT channel, coalesce(recipient_address, '')
		FROM   notification
		WHERE  delivery_id = ANY ($1)
		LIMIT  1`

	var channel notification.Channel
	var address string
	if err := s.Pool.QueryRow(ctx, query, ids).Scan(&channel, &address); err != nil {
		return wrap(ignoreNoRows(err), "read the address of an attempt")
	}
	return s.Suppress(ctx, channel, address, result.Suppress, result.Detail)
}

// attemptsOf names the attempts that a result ends, by delivery and number.
func attemptsOf(result notification.AttemptResult) (ids []string, numbers []int) {
	if result.DigestID == "" {
		return []string{result.DeliveryID}, []int{result.Number}
	}
	for _, item := range result.Items {
		ids, numbers = append(ids, item.DeliveryID), append(numbers, item.Attempt)
	}
	return ids, numbers
}
