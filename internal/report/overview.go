package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// PeriodCount counts the deliveries of one channel and status that were planned in a period.
type PeriodCount struct {
	Since   time.Time // when the period begins
	Channel notification.Channel
	Status  notification.Status
	Count   int
}

// mostRecent limits the deliveries that [Reader.DeliveryHistory] counts itself.
const mostRecent = 10_000

// DeliveryHistory reads the counts of the sweep since a time, in periods of the given length: a
// multiple of ten minutes. It counts the deliveries itself from the sweep's last ten minutes on, or all
// of them if no sweep has counted. If these are mostRecent or more, it leaves them to the sweep.
func (r Reader) DeliveryHistory(ctx context.Context, since time.Time, period time.Duration) ([]PeriodCount, error) {
	const query = `
		WITH counted AS (
			SELECT greatest(max(since), $1) AS last
			FROM   delivery_count
		), recent AS MATERIALIZED (
			SELECT created_at, channel, status
			FROM   notification
			WHERE  created_at >= (SELECT last FROM counted)
			ORDER BY created_at
			LIMIT  $3
		), live AS (
			SELECT count(*) < $3 AS complete
			FROM   recent
		)
		SELECT date_bin($2::interval, since, $1) AS since, channel, status, sum(count)::bigint AS count
		FROM  (SELECT since, channel, status, count
		       FROM   delivery_count
		       WHERE  since >= $1
		       AND    (since < (SELECT last FROM counted) OR NOT (SELECT complete FROM live))
		       UNION ALL
		       SELECT created_at, channel, status, 1
		       FROM   recent
		       WHERE  (SELECT complete FROM live)) AS counts
		GROUP BY 1, channel, status
		ORDER BY 1, channel, status`

	return db.Collect(ctx, r.Pool, "read counts of deliveries", pgx.RowToStructByName[PeriodCount], query, since, period, mostRecent)
}

// FailureCount counts recent failed deliveries with one cause.
type FailureCount struct {
	Channel  notification.Channel
	Provider string // empty: none had the message
	Error    string
	Count    int
	Last     time.Time // the planning of the last one
}

// recentFailures is the number of failed deliveries that [Reader.Failures] reads.
const recentFailures = 1000

// Failures counts the causes of the last 1,000 failed deliveries, the most frequent first, up to
// limit causes.
func (r Reader) Failures(ctx context.Context, limit int) ([]FailureCount, error) {
	const query = `
		SELECT channel, coalesce(provider, '') AS provider, coalesce(last_error, '') AS error, count(*) AS count, max(created_at) AS last
		FROM  (SELECT channel, provider, last_error, created_at
		       FROM   notification
		       WHERE  status = 'FAILED'
		       ORDER BY id DESC
		       LIMIT  $1) AS recent
		GROUP BY channel, provider, last_error
		ORDER BY count(*) DESC, max(created_at) DESC
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read causes of failures", pgx.RowToStructByName[FailureCount], query, recentFailures, limit)
}

// AwaitingEvent is an event that waits for approval.
type AwaitingEvent struct {
	EventID   string
	EventType string // empty: its row was purged
	AskedAt   time.Time
	All       int // how many events wait
}

// AwaitingEvents reads events that wait for approval, up to limit, the oldest first.
func (r Reader) AwaitingEvents(ctx context.Context, limit int) ([]AwaitingEvent, error) {
	const query = `
		SELECT a.event_id, coalesce(e.event_type, '') AS event_type, a.asked_at, count(*) OVER () AS all
		FROM   event_approval a
		JOIN   processed_event p USING (event_id)
		LEFT JOIN event_outbox e USING (event_id)
		WHERE  a.answer IS NULL
		AND    p.status = 'PROCESSING'
		ORDER BY a.asked_at
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read events that wait for approval", pgx.RowToStructByName[AwaitingEvent], query, limit)
}
