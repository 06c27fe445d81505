package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// begun is the beginning of a query that begins attempts at the deliveries which
// its end selects: n. It counts them and opens their rows in delivery_attempt: what
// dies after it leaves an attempt that was begun and never ended. $1 is how many
// attempts earlier runs had; $2 says whether $3 is the address to use and to record.
//
// An attempt after two that found our account rejected has the row and the number
// of the second one, since a rejected account uses up no attempts: a day of them,
// one a minute, leaves two rows.
const begun = `
		WITH begun AS (
			UPDATE notification n
			SET    attempt_count     = n.attempt_count + CASE WHEN
			           EXISTS (SELECT FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.attempt = n.attempt_count AND a.outcome = 'ACCOUNT')
			           AND EXISTS (SELECT FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.attempt > $1 AND a.attempt < n.attempt_count AND a.outcome = 'ACCOUNT')
			           THEN 0 ELSE 1 END,
			       recipient_address = CASE WHEN $2 THEN nullif($3, '') ELSE n.recipient_address END
			WHERE  `

// began goes on after what selects the deliveries.
const began = `
			RETURNING *
		), attempt AS (
			INSERT INTO delivery_attempt (delivery_id, attempt)
			SELECT delivery_id, attempt_count
			FROM   begun
			ON CONFLICT (delivery_id, attempt) DO UPDATE
			SET    started_at = now(), ended_at = NULL, outcome = NULL, provider_status = NULL, detail = NULL, took = NULL
		)`

// tried is what the attempts before this one at the delivery n came to, in the
// order of [notification.Tried].
const tried = `n.attempt_count - $1,
		       (SELECT count(*) FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.attempt > $1 AND a.outcome IN ('REFUSED', 'BUSY', 'AMBIGUOUS')),
		       (SELECT count(*) FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.attempt > $1 AND a.ended_at IS NULL),
		       (SELECT coalesce(now() - min(a.started_at), '0') FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.attempt > $1 AND a.outcome = 'ACCOUNT')`

// BeginAttempt counts an attempt at a delivery, opens its row in delivery_attempt
// and returns what to send.
//
// A delivery that was planned more than a minute ago, that is to be judged, or whose
// event another one cancels, is asked for all that may have changed since, in one
// transaction: it may be dropped, or go to another address. Any other takes one
// statement.
//
// A delivery that needs no sending, or may not be sent, is returned as that and
// nothing is counted. Where there is none, the error is [notification.ErrNoDelivery].
func (s *Store) BeginAttempt(ctx context.Context, in notification.Begin) (notification.Attempt, error) {
	if !in.JudgeQuiet && !in.Look {
		attempt, err := beginAttempt(ctx, s.Pool, in, nil)
		if !errors.Is(err, pgx.ErrNoRows) {
			return attempt, err
		}
	}
	var attempt notification.Attempt
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, err := s.lockAttemptFacts(ctx, tx, "n.delivery_id = $1", in.DeliveryID)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return notification.ErrNoDelivery
		}
		found := rows[0]
		found.JudgeQuiet, found.Ordered, found.Again = in.JudgeQuiet, in.Ordered, in.Again
		attempt.Status, attempt.ReceiptFailed = found.status, found.receiptFailed
		if !attempt.Due() || in.Look {
			return nil
		}
		if attempt.Verdict = found.Judge(found.now); attempt.Held() {
			return putOff(ctx, tx, in.DeliveryID, attempt.NotBefore)
		}
		address := found.Recipient.Address(found.Channel)
		attempt, err = beginAttempt(ctx, tx, in, &address)
		if in.Alone > 0 && errors.Is(err, pgx.ErrNoRows) { // the row is locked, and due
			attempt, err = notification.Attempt{Status: found.status, UnderWay: true}, nil
		}
		return err
	})
	return attempt, err
}

// putOff records until when a delivery that has waited waits on; zero: it does not.
func putOff(ctx context.Context, tx pgx.Tx, deliveryID string, until time.Time) error {
	const update = `
		UPDATE notification
		SET    send_after = $2
		WHERE  delivery_id = $1
		AND    send_after IS NOT NULL` // one that was planned to be sent at once stays in its lane

	if until.IsZero() {
		return nil
	}
	_, err := tx.Exec(ctx, update, deliveryID, until)
	return wrap(err, "put off delivery")
}

// beginAttempt begins an attempt with the address of now. Without one the delivery must
// have been planned within a minute, and no event may cancel its own; else, where it
// needs no sending, and where it would not be alone, the error is [pgx.ErrNoRows].
func beginAttempt(ctx context.Context, on querier, in notification.Begin, address *string) (notification.Attempt, error) {
	const query = begun + `n.delivery_id = $4
			AND    n.status = ANY ((SELECT ARRAY ['PENDING', 'FAILED'])::text[]) -- which keeps the planner to the index of ids
			AND    NOT n.receipt_failed
			AND    ($6::interval = '0' OR n.attempt_count = 0 OR NOT EXISTS (
			           SELECT FROM delivery_attempt a
			           WHERE  a.delivery_id = n.delivery_id AND a.attempt = n.attempt_count AND a.ended_at IS NULL AND a.started_at > now() - $6))
			AND    ($2 OR (n.created_at > now() - interval '1 minute' AND ` + canceller + ` IS NULL))` + began + `
		SELECT n.status, n.attempt_count, ` + tried + `, ` + messageFacts + `
		` + messageOf

	var a notification.Attempt
	fields := []any{&a.Status, &a.Number, &a.Begun, &a.Ended, &a.Crashed, &a.Rejected}
	err := on.QueryRow(ctx, query, in.Before, address != nil, address, in.DeliveryID, maxDevices, in.Alone).Scan(append(fields, messageFields(&a)...)...)
	if err != nil {
		return notification.Attempt{}, fmt.Errorf("begin attempt: %w", err)
	}
	return a, nil
}

const (
	// messageFacts are the columns of a message to send, which messageFields scans; $5 is
	// how many devices it may have.
	messageFacts = `
		       n.id, n.delivery_id, n.event_id, n.event_type, coalesce(n.correlation_id, ''), n.user_type, n.user_id,
		       coalesce(r.name, ''), coalesce(n.recipient_address, ''), coalesce(n.title, ''), coalesce(n.body, ''), n.created_at,
		       CASE WHEN n.body IS NULL THEN n.last_error ELSE '' END,
		       CASE WHEN n.channel = 'PUSH' THEN ARRAY (
		           SELECT DISTINCT d.token
		           FROM   ` + directoryDevice + ` d
		           WHERE  d.user_type = n.user_type AND d.user_id = n.user_id AND d.active
		           ORDER BY d.token
		           LIMIT  $5) END,
		       CASE WHEN n.channel = 'PUSH' THEN coalesce(p.push_kind, '') ELSE '' END,
		       coalesce(u.audience, ''),
		       coalesce(g.category, ''),
		       coalesce(NOT p.mandatory, false)`
	// messageOf has all that they are of, of the deliveries n that were begun.
	messageOf = `FROM   begun n
		LEFT JOIN user_type u USING (user_type)
		` + recipientOf + `
		LEFT JOIN event_type_channel_routing p ON (p.event_type, p.channel_type) = (n.event_type, n.channel)
		LEFT JOIN event_category g ON g.event_type = n.event_type`
)

func messageFields(a *notification.Attempt) []any {
	m := &a.Message
	return []any{
		&m.NotificationID, &m.DeliveryID, &m.EventID, &m.EventType, &m.CorrelationID, &m.UserType, &m.UserID, &m.Name, &m.To, &m.Title, &m.Body,
		&m.CreatedAt, &a.Problem, &m.Devices, &m.PushKind, &m.Audience, &m.Category, &m.Optional,
	}
}

// maxDevices bounds the devices of one person that a push goes to.
const maxDevices = 20
