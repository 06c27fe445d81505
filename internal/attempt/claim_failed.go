package attempt

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ClaimFailed returns failed deliveries of a part, each of which gets a failed workflow: the first
// ones, up to limit, in the order of notification.id. It marks them as having a workflow. Once the
// event has `most` such workflows, it marks the others as having none. A repeat returns the same
// deliveries. next is the first id to read after them; 0: that was all.
func (s Store) ClaimFailed(
	ctx context.Context, part notification.Part, most, limit int,
) (failed []notification.FailedDelivery, next int64, err error) {
	// Batches of one event count one after another: each sees the marks of the others.
	const lock = `SELECT pg_advisory_xact_lock(hashtextextended('failed_child ' || $1, 0))`
	const mark = `
		UPDATE notification n
		SET    failed_child = p.place <= $6 - (SELECT count(*) FROM notification c WHERE c.event_id = $1 AND c.failed_child)
		FROM  (SELECT l.id, row_number() OVER (ORDER BY l.id) AS place
		       FROM  (SELECT n.id
		              FROM   notification n
		              WHERE  ` + failedInPart + `
		              AND    n.failed_child IS NULL
		              ORDER BY n.id
		              FOR UPDATE) AS l) AS p
		WHERE  n.id = p.id`
	const query = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, left(n.last_error, 500) AS reason
		FROM   notification n
		WHERE  ` + failedInPart + `
		AND    n.failed_child
		ORDER BY n.id
		LIMIT  $6`

	batch := &pgx.Batch{}
	batch.Queue(lock, part.EventID)
	batch.Queue(mark, append(PartArgs(part), most)...)
	type row struct {
		ID int64
		notification.FailedDelivery
	}
	var claimed []row
	db.QueueInto(batch, &claimed, db.ByName[row](), query, append(PartArgs(part), limit)...)
	err = s.Pool.SendBatch(ctx, batch).Close()
	for _, row := range claimed {
		failed = append(failed, row.FailedDelivery)
	}
	if len(claimed) == limit {
		next = claimed[limit-1].ID + 1
	}
	return failed, next, db.Wrap(err, "claim failed deliveries")
}
