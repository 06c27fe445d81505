package report

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DeliveryCount counts the deliveries of one channel in one status.
type DeliveryCount struct {
	Channel notification.Channel `json:"channel"`
	Status  notification.Status  `json:"status"`
	Count   int                  `json:"count"`
}

// DeliveryCounts counts the deliveries that were planned in the time since, up to
// now. Its cost grows with their number.
func (r Reader) DeliveryCounts(ctx context.Context, since time.Duration) ([]DeliveryCount, error) {
	const query = `
		SELECT channel, status, count(*) AS count
		FROM   notification
		WHERE  created_at >= now() - $1::interval
		GROUP BY channel, status
		ORDER BY channel, status`

	return list(ctx, r, "counts of deliveries", pgx.RowToStructByName[DeliveryCount], query, since)
}

// mostCounted bounds what one look at the events costs the database.
const mostCounted = 100_000

// IncompleteEvents counts the events that ended with deliveries left PENDING, up
// to 100,000: the sweep sees to these.
func (r Reader) IncompleteEvents(ctx context.Context) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   processed_event
		       WHERE  outcome = 'INCOMPLETE'
		       LIMIT  $1) AS any_of_them`

	var count int
	if err := r.Pool.QueryRow(ctx, query, mostCounted).Scan(&count); err != nil {
		return 0, fmt.Errorf("count incomplete events: %w", err)
	}
	return count, nil
}
