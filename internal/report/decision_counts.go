package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// DecisionCount counts one decision about the recipients of an event.
type DecisionCount struct {
	UserType notification.UserType
	Channel  notification.Channel
	Decision notification.Decision
	People   int
}

// NotSelected counts the decisions of an event that planned no delivery, the most frequent first, up to 50.
// It reads up to maxCounted recipients.
func (r Reader) NotSelected(ctx context.Context, eventID string, maxCounted int) ([]DecisionCount, error) {
	const query = `
		SELECT d.user_type, c.key AS channel, c.value AS decision, count(*) AS people
		FROM  (SELECT user_type, channels
		       FROM   notification_decision
		       WHERE  event_id = $1
		       LIMIT  $2) AS d
		CROSS JOIN LATERAL jsonb_each_text(d.channels) c
		WHERE  c.value <> 'SELECTED'
		GROUP BY 1, 2, 3
		ORDER BY count(*) DESC, 1, 2, 3
		LIMIT  50`

	return db.Collect(ctx, r.Pool, "count decisions", pgx.RowToStructByName[DecisionCount], query, eventID, maxCounted)
}
