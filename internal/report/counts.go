package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DeliveryCount counts the deliveries of one channel in one status.
type DeliveryCount struct {
	Channel notification.Channel `json:"channel"`
	Status  notification.Status  `json:"status"`
	Count   int                  `json:"count"`
}

// DeliveryCounts counts the deliveries that were planned within the last `since`. Its cost
// grows with their number.
func (r Reader) DeliveryCounts(ctx context.Context, since time.Duration) ([]DeliveryCount, error) {
	const query = `
		SELECT channel, status, count(*) AS count
		FROM   notification
		WHERE  created_at >= now() - $1::interval
		GROUP BY channel, status
		ORDER BY channel, status`

	return db.Collect(ctx, r.Pool, "read counts of deliveries", pgx.RowToStructByName[DeliveryCount], query, since)
}

const (
	// mostCounted limits the events that one count reads.
	mostCounted = 100_000
	// scannedProcessing limits the events among which [Reader.UnplannedEvents] looks.
	scannedProcessing = 10_000
)

// OutcomeCount counts the events that ended with an outcome.
type OutcomeCount struct {
	Outcome notification.EventOutcome `json:"outcome"`
	Count   int                       `json:"count"`
}

// EndedEvents counts the events that ended within the last `since` with some outcomes: up to 100,000 of each.
func (r Reader) EndedEvents(ctx context.Context, since time.Duration, outcomes ...notification.EventOutcome) ([]OutcomeCount, error) {
	const query = `
		SELECT outcome, count
		FROM   unnest($1::text[]) AS wanted (outcome)
		CROSS JOIN LATERAL (
			SELECT count(*)
			FROM  (SELECT
			       FROM   processed_event p
			       WHERE  p.outcome = wanted.outcome
			       AND    p.updated_at >= now() - $2::interval
			       LIMIT  $3) AS any_of_them
		) AS of_outcome
		WHERE  count > 0
		ORDER BY outcome`

	return db.Collect(ctx, r.Pool, "read how events ended", pgx.RowToStructByName[OutcomeCount], query, outcomes, since, mostCounted)
}

// UnplannedEvents counts events that have been PROCESSING for over a minute without any decision.
type UnplannedEvents struct {
	Count    int
	OldestID string    // empty: there is none
	Since    time.Time // when the workflow of the oldest was started
}

// UnplannedEvents counts the events whose planning does not end, among 10,000 that are PROCESSING. An event that
// waits for approval has ended its planning.
func (r Reader) UnplannedEvents(ctx context.Context) (UnplannedEvents, error) {
	const query = `
		SELECT count(*) AS count, coalesce((array_agg(event_id ORDER BY created_at))[1], '') AS oldest_id,
		       coalesce(min(created_at), now()) AS since
		FROM  (SELECT * FROM processed_event WHERE status = 'PROCESSING' LIMIT $1) p
		WHERE  created_at < now() - interval '1 minute'
		AND    NOT EXISTS (SELECT FROM notification_decision d WHERE d.event_id = p.event_id)
		AND    NOT EXISTS (SELECT FROM event_approval a WHERE a.event_id = p.event_id AND a.answer IS NULL)`

	return db.One(ctx, r.Pool, "read events that are not planned", pgx.RowToStructByName[UnplannedEvents], query, scannedProcessing)
}

// IncompleteEvents counts the events that ended with PENDING deliveries, up to 100,000. The
// sweep takes care of them.
func (r Reader) IncompleteEvents(ctx context.Context) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   processed_event
		       WHERE  outcome = 'INCOMPLETE'
		       LIMIT  $1) AS any_of_them`

	return db.One(ctx, r.Pool, "read the number of incomplete events", pgx.RowTo[int], query, mostCounted)
}
