package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// claimFloor is the seq from which most claims of a source look for pending events. While a
// session holds an old snapshot, Postgres keeps an index entry for each row that was
// pending since that snapshot. A claim that starts before these entries reads them all again.
//
// A row may become free below the floor: its producer committed late, or its lease ran out.
// So the floor stays a moment behind the claims, which gives producers time between insert
// and commit. Once a second, a claim looks at all rows.
type claimFloor struct {
	mu     sync.Mutex
	looked time.Time // when a claim last looked at all rows
	moved  time.Time // when the floor last moved
	floor  int64
	next   int64 // the floor after its next move
	behind int64 // the seq after the last claimed event
}

const (
	// lookInterval is the longest time that a free row below the floor waits.
	lookInterval = time.Second
	// floorInterval is the time between two moves of the floor. The floor stays one to two
	// intervals behind the claims.
	floorInterval = 250 * time.Millisecond
)

// from returns the seq from which a claim looks for events; 0: from the first event.
func (f *claimFloor) from(now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) < lookInterval {
		return f.floor
	}
	f.looked = now // other claims need not look too
	return 0
}

// claimed records the rows that a claim found.
func (f *claimFloor) claimed(rows []claimedEvent, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.behind
	if len(rows) > 0 {
		first = rows[0].Seq
		f.behind = max(f.behind, rows[len(rows)-1].Seq+1)
	}
	if first < f.floor { // more rows may be free there
		f.floor, f.next, f.moved = first, first, now
	}
	if now.Sub(f.moved) >= floorInterval {
		f.floor, f.next, f.moved = f.next, first, now
	}
}

// claimedEvent is a row of a claim.
type claimedEvent struct {
	notification.PendingEvent
	Seq int64
}

// claimFloors holds the floor of each source.
type claimFloors struct{ floors sync.Map }

func (f *claimFloors) of(source string) *claimFloor {
	floor, _ := f.floors.LoadOrStore(source, &claimFloor{})
	return floor.(*claimFloor)
}

// ClaimFailed returns failed deliveries of a part, each of which gets a failed workflow: the first
// ones, up to limit, in the order of notification.id. It marks them as having a workflow. Once the
// event has `most` such workflows, it marks the others as having none. A repeat returns the same
// deliveries. next is the first id to read after them; 0: that was all.
func (s *Store) ClaimFailed(ctx context.Context, part notification.Part, most, limit int) (failed []notification.FailedDelivery, next int64, err error) {
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
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, left(n.last_error, 500)
		FROM   notification n
		WHERE  ` + failedInPart + `
		AND    n.failed_child
		ORDER BY n.id
		LIMIT  $6`

	batch := &pgx.Batch{}
	batch.Queue(lock, part.EventID)
	batch.Queue(mark, append(partArgs(part), most)...)
	var d notification.FailedDelivery
	fields := []any{&next, &d.DeliveryID, &d.Channel, &d.UserType, &d.UserID, &d.Priority, &d.Reason}
	QueueEach(batch, fields, func() { failed = append(failed, d) }, query, append(partArgs(part), limit)...)
	err = s.Pool.SendBatch(ctx, batch).Close()
	next++
	if len(failed) < limit {
		next = 0
	}
	return failed, next, Wrap(err, "claim failed deliveries")
}
