package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
)

// Reopening reads the facts for planning a delivery again. If the delivery does not exist,
// the error is [notification.ErrNoDelivery].
func (s Store) Reopening(ctx context.Context, deliveryID string) (notification.Reopening, error) {
	const query = `
		SELECT ` + planner.RecipientFacts + `,
		       n.user_type, n.user_id, n.event_id, n.channel,
		       coalesce(n.entity_type, '') AS entity_type,
		       coalesce(n.entity_id, '') AS entity_id,
		       ` + db.EntityName + ` AS entity_name,
		       coalesce(n.member_role, '') AS member_role,
		       n.body IS NOT NULL AS has_text,
		       r.user_id IS NOT NULL AS known,
		       coalesce(r.active, false) AS active,
		       CASE WHEN n.strategy = 'DELAYED' THEN n.send_after END AS send_after,
		       n.escalated_from IS NOT NULL AS follows
		FROM   notification n
		` + db.RecipientOf + `
		WHERE  n.delivery_id = $1`

	type row struct {
		notification.Reopening
		notification.Recipient
	}
	found, err := db.OneDelivery[row](ctx, s.Pool, "read delivery to reopen", query, deliveryID)
	found.Reopening.Recipient = found.Recipient
	return found.Reopening, err
}

// OwnTime returns the time until which a delivery would wait if it were retried now; zero:
// it would be sent at once.
func (s Store) OwnTime(ctx context.Context, deliveryID string, now time.Time) (time.Time, error) {
	found, err := s.Reopening(ctx, deliveryID)
	if err != nil {
		return time.Time{}, err
	}
	setup, err := planner.On(s.DB).EventSetup(ctx, found.EventID)
	if err != nil && !errors.Is(err, notification.ErrNoEvent) {
		return time.Time{}, err
	}
	at, _ := found.OwnTime(setup, now)
	return at, nil
}

// Reopen puts a delivery back to PENDING with its new plan, or to FAILED if the plan has a
// problem. The same statement records the retry. A sent delivery stays as it is, unless
// Again is set. A delivery that the same run reopened before also stays, and a delivery to a person
// who was erased.
//
// From now on, Herald sends the delivery alone. Its strategy is IMMEDIATE, or DELAYED if
// it waits for its own time again, so no digest takes it.
func (s Store) Reopen(ctx context.Context, plan notification.Reopened) (notification.ReopenedState, error) {
	const query = `
		WITH before AS (
			SELECT delivery_id, status, attempt_count, last_error, send_after, provider_message_id, ` + db.Erased + ` AS erased
			FROM   notification n
			WHERE  delivery_id = @id
			FOR UPDATE
		), retry AS (
			INSERT INTO delivery_retry (delivery_id, run_id, again, status_before, error_before, message_id_before, attempts_before)
			SELECT delivery_id, @run, @again, status, last_error, provider_message_id, attempt_count
			FROM   before
			WHERE  (@again OR status NOT IN ('SENT', 'DELIVERED')) AND NOT erased
			ON CONFLICT DO NOTHING
			RETURNING delivery_id
		), reopened AS (
			UPDATE notification n
			SET    status              = CASE @problem WHEN '' THEN 'PENDING' ELSE 'FAILED' END,
			       receipt_failed      = false,
			       last_error          = nullif(@problem, ''),
			       provider            = CASE WHEN n.provider_message_id IS NULL THEN n.provider END, -- it may have the message
			       provider_message_id = NULL, -- receipts of the earlier message are not about the next one
			       delivered_at        = NULL,
			       recipient_address   = nullif(@address, ''),
			       title               = CASE WHEN @keep_text THEN n.title ELSE @title END,
			       body                = CASE WHEN @keep_text THEN n.body ELSE @body END,
			       url                 = CASE WHEN @keep_text THEN n.url ELSE nullif(@url, '') END,
			       strategy            = CASE WHEN @send_after::timestamptz IS NULL THEN 'IMMEDIATE' ELSE 'DELAYED' END,
			       send_after          = @send_after,
			       next_attempt_at     = NULL,
			       operator_time       = NULL,
			       expires_at          = CASE WHEN @again AND n.expires_at <= now() THEN NULL ELSE n.expires_at END,
			       available_at        = CASE WHEN @send_after IS NULL THEN n.available_at END, -- a delivery that waits again is not in the inbox
			       digest_id           = NULL,
			       restarts            = 0
			FROM   retry r
			WHERE  n.delivery_id = r.delivery_id
			RETURNING n.status, n.attempt_count, n.last_error, n.send_after
		)
		SELECT status, attempt_count AS attempts, coalesce(last_error, '') AS last_error, send_after
		FROM   reopened
		UNION ALL
		SELECT status, attempt_count, coalesce(last_error, ''), CASE status WHEN 'PENDING' THEN send_after END
		FROM   before
		WHERE  NOT EXISTS (SELECT FROM reopened)`

	return db.OneDelivery[notification.ReopenedState](ctx, s.Pool, "reopen delivery", query, pgx.NamedArgs{
		"id": plan.DeliveryID, "run": plan.RunID, "again": plan.Again, "problem": plan.Problem, "address": plan.Address,
		"keep_text": plan.KeepText, "title": plan.Title, "body": plan.Body, "url": plan.URL, "send_after": plan.SendAfter,
	})
}
