package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// AttemptGroup counts deliveries of one channel by the end of their last attempt.
type AttemptGroup struct {
	Channel        notification.Channel
	Provider       string                      // empty: no attempt had a provider
	Outcome        notification.AttemptOutcome // of the last attempt; empty: none has ended
	ProviderStatus int                         // HTTP status; 0: none
	Receipt        bool                        // a receipt says that they did not arrive
	NoText         bool                        // their text could not be written
	Count          int                         // deliveries
	People         int
	Since          time.Time // when the oldest was due; of failed deliveries, when it was planned
}

const (
	// groupedRows limits the rows that [Reader.LateDeliveries] and [Reader.FailedDeliveries] group.
	groupedRows = 1000
	// scannedPending limits the rows in which LateDeliveries looks for late ones: reminders may wait in
	// front of them.
	scannedPending = 100_000
)

// grouped counts the rows of the CTE found by their last attempts.
const grouped = `
	SELECT f.channel, f.provider, coalesce(a.outcome, '') AS outcome, coalesce(a.provider_status, 0) AS provider_status,
	       f.receipt, f.no_text, count(*) AS count, count(DISTINCT (f.user_type, f.user_id)) AS people, min(f.since) AS since
	FROM   found f
	LEFT JOIN LATERAL (
	       SELECT outcome, provider_status
	       FROM   delivery_attempt a
	       WHERE  a.delivery_id = f.delivery_id
	       AND    a.outcome IS NOT NULL
	       ORDER BY attempt DESC
	       LIMIT  1) AS a ON true
	GROUP BY 1, 2, 3, 4, 5, 6
	ORDER BY count(*) DESC, min(f.since)
	LIMIT  20`

// LateDeliveries groups the deliveries that were due a minute ago and are not sent: at most 1,000, among
// the 100,000 oldest that are PENDING. Deliveries that an operator has put off, or that wait for their
// digest, are not late.
func (r Reader) LateDeliveries(ctx context.Context) ([]AttemptGroup, error) {
	const query = `
		WITH found AS (
			SELECT channel, '' AS provider, false AS receipt, false AS no_text, user_type, user_id, delivery_id,
			       coalesce(send_after, created_at) AS since
			FROM  (SELECT * FROM notification WHERE status = 'PENDING' ORDER BY id LIMIT $2) AS oldest
			WHERE  strategy <> 'AGGREGATE'
			AND    coalesce(send_after, created_at) < now() - interval '1 minute'
			AND   (next_attempt_at IS NULL OR next_attempt_at < now() - interval '1 minute'
			       OR (attempt_count > 0 AND operator_time IS DISTINCT FROM 'LATER'))
			LIMIT  $1
		)` + grouped

	return db.Collect(ctx, r.Pool, "read late deliveries", pgx.RowToStructByName[AttemptGroup], query, groupedRows, scannedPending)
}

// FailedDeliveries groups the deliveries that were planned within the last `since` and have failed: among the
// 1,000 newest that have.
func (r Reader) FailedDeliveries(ctx context.Context, since time.Duration) ([]AttemptGroup, error) {
	const query = `
		WITH newest AS (
			SELECT *
			FROM   notification
			WHERE  status = 'FAILED'
			ORDER BY id DESC
			LIMIT  $1
		), found AS (
			SELECT channel, coalesce(provider, '') AS provider, receipt_failed AS receipt, title IS NULL AS no_text, user_type, user_id,
			       delivery_id, created_at AS since
			FROM   newest
			WHERE  created_at > now() - $2::interval
		)` + grouped

	return db.Collect(ctx, r.Pool, "read failed deliveries", pgx.RowToStructByName[AttemptGroup], query, groupedRows, since)
}
