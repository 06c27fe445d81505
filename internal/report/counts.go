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

// mostCounted limits the events that one count reads.
const mostCounted = 100_000

// OutcomeCount counts the events that ended with an outcome.
type OutcomeCount struct {
	Outcome notification.EventOutcome `json:"outcome"`
	Count   int                       `json:"count"`
}

// UntoldEvents counts the events that ended within the last `since`, and told nobody, or
// not everybody, because of the rules: up to 100,000 of each outcome.
func (r Reader) UntoldEvents(ctx context.Context, since time.Duration) ([]OutcomeCount, error) {
	const query = `
		SELECT outcome, count
		FROM   unnest($1::text[]) AS mendable (outcome)
		CROSS JOIN LATERAL (
			SELECT count(*)
			FROM  (SELECT
			       FROM   processed_event p
			       WHERE  p.outcome = mendable.outcome
			       AND    p.updated_at >= now() - $2::interval
			       LIMIT  $3) AS any_of_them
		) AS of_outcome
		WHERE  count > 0
		ORDER BY outcome`

	return db.Collect(ctx, r.Pool, "read events that told nobody", pgx.RowToStructByName[OutcomeCount], query,
		notification.MendableOutcomes(), since, mostCounted)
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
