package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// sweepScan limits the rows that one statement of the sweep reads. Most rows have a
// workflow and are skipped.
const sweepScan = 10_000

// scanEnd returns the key of the last row that one statement reads after a key; zero: the statement
// reads all remaining rows.
func scanEnd[K any](ctx context.Context, s *db.DB, key, rows string, after K) (K, error) {
	query := "SELECT " + key + " FROM " + rows + " AND " + key + " > $1 ORDER BY " + key + " OFFSET $2 LIMIT 1"
	end, err := db.One(ctx, s.Pool, "find where the sweep ends", pgx.RowTo[K], query, after, sweepScan)
	return end, db.IgnoreNoRows(err)
}

// dueOfEvent is the time for which a PROCESSING event e waits by design: the first of the times for
// which its deliveries wait. A delivery waits for send_after or its next attempt, a digest for its window,
// an escalation for its recipient. Null: a delivery is due, or the event plans. It reads a hundred
// deliveries: a larger event counts as waiting if these deliveries wait.
const dueOfEvent = `(
		SELECT CASE WHEN NOT bool_or(w.status = 'PENDING' AND coalesce(w.due <= now(), true)) THEN min(w.due) FILTER (WHERE w.due > now()) END
		FROM  (SELECT n.status,
		              CASE WHEN n.status = 'PENDING' AND n.strategy = 'AGGREGATE'
		                  THEN greatest(n.send_after, n.next_attempt_at, n.created_at + p.digest_window)
		                   WHEN n.status = 'PENDING' THEN greatest(n.send_after, n.next_attempt_at)
		                   ELSE coalesce(n.send_after, n.created_at) + x.after END AS due
		       FROM   notification n
		       LEFT JOIN event_type_channel_routing p ON (p.event_type, p.channel_type) = (n.event_type, n.channel)
		       ` + db.EscalationOf + `
		       WHERE  n.event_id = e.event_id
		       AND    ` + db.Undelivered + `
		       LIMIT  100) AS w)`

// dueOfDelivery is the time for which a PENDING delivery n waits, at most until it expires.
const dueOfDelivery = `least(greatest(n.send_after, n.next_attempt_at, '-infinity'), n.expires_at)`

// selectStuckEvents reads the columns of [notification.StuckEvent].
const selectStuckEvents = `
		SELECT e.event_id AS id,
		       coalesce(o.source, '') AS source,
		       ` + pendingFacts + `,
		       e.restarts,
		       o.event_id IS NULL AS purged,
		       -- The poller writes both times in one transaction; planning anew changes only the first.
		       CASE WHEN e.created_at > o.published_at THEN e.created_at END AS reopened_at
		FROM   processed_event e
		LEFT JOIN event_outbox o USING (event_id)`

// StuckEvents reads the PROCESSING events of a scan, in the order of their ids, after
// `after`. next is the id to read on after; empty: that was all.
func (s Store) StuckEvents(
	ctx context.Context, after string, scan notification.StuckScan,
) (events []notification.StuckEvent, next string, err error) {
	const query = selectStuckEvents + `
		CROSS JOIN LATERAL (SELECT ` + dueOfEvent + ` AS due OFFSET 0) d
		WHERE  e.status = 'PROCESSING'
		AND    e.created_at < now() - @age::interval
		AND    e.event_id > @after
		AND    (e.event_id <= @end OR @end = '')
		AND    (@from::timestamptz IS NULL OR d.due >= @from)
		AND    (@to::timestamptz IS NULL OR coalesce(d.due < @to, true))
		ORDER BY e.event_id
		LIMIT  @limit`

	if next, err = scanEnd(ctx, s.DB, "event_id", "processed_event WHERE status = 'PROCESSING'", after); err != nil {
		return nil, "", err
	}
	events, err = db.Collect(ctx, s.Pool, "read stuck events", db.ByName[notification.StuckEvent](), query,
		scanArgs(scan, after, next))
	if len(events) == scan.Limit {
		next = events[scan.Limit-1].ID
	}
	return events, next, err
}

// StuckDeliveries reads the PENDING deliveries of a scan, in the order of notification.id, after
// `after`. It skips deliveries of an event that is PROCESSING, is about to start, or started within the
// scan's age. The event's workflow sends them, and the sweep looks for that workflow. It does not send
// a delivery that an operator retried. next is the id to read on after; 0: that was all.
func (s Store) StuckDeliveries(
	ctx context.Context, after int64, scan notification.StuckScan,
) (stuck []notification.StuckDelivery, next int64, err error) {
	const query = `
		SELECT n.id, n.delivery_id, n.channel, n.user_type, n.user_id, n.priority, n.event_id, n.event_type, n.restarts,
		       coalesce(o.aggregate_type, '') AS aggregate_type,
		       coalesce(o.aggregate_id, '') AS aggregate_id,
		       r.delivery_id IS NOT NULL AS retried,
		       r.retried_at AS reopened_at,
		       r.delivery_id IS NOT NULL AND n.strategy <> 'DELAYED' AS ordered, -- else it waits for its own time again, and the rules apply
		       coalesce(r.again, false) AS again,
		       coalesce(r.attempts_before, 0) AS attempts_before
		FROM   notification n
		LEFT JOIN event_outbox o ON o.event_id = n.event_id
		LEFT JOIN processed_event p ON p.event_id = n.event_id
		LEFT JOIN LATERAL (SELECT * FROM delivery_retry r WHERE r.delivery_id = n.delivery_id ORDER BY retried_at DESC LIMIT 1) r ON true
		CROSS JOIN LATERAL (SELECT ` + dueOfDelivery + ` AS due) d
		WHERE  n.status = 'PENDING'
		AND    n.created_at < now() - @age::interval
		AND    n.id > @after
		AND    (n.id <= @end OR @end = 0)
		AND    (@from::timestamptz IS NULL OR d.due >= @from)
		AND    (@to::timestamptz IS NULL OR d.due < @to)
		AND    o.status IS DISTINCT FROM 'PENDING'
		AND    (p.status IS DISTINCT FROM 'PROCESSING' OR r.delivery_id IS NOT NULL)
		AND    coalesce(p.created_at < now() - @age::interval, true)
		ORDER BY n.id
		LIMIT  @limit`

	if next, err = scanEnd(ctx, s.DB, "id", "notification WHERE status = 'PENDING'", after); err != nil {
		return nil, 0, err
	}
	stuck, err = db.Collect(ctx, s.Pool, "read stuck deliveries", db.ByName[notification.StuckDelivery](), query, scanArgs(scan, after, next))
	if len(stuck) == scan.Limit {
		next = stuck[scan.Limit-1].ID
	}
	return stuck, next, err
}

func scanArgs(scan notification.StuckScan, after, end any) pgx.NamedArgs {
	return pgx.NamedArgs{
		"after": after, "end": end, "age": scan.Age, "from": db.Optional(scan.From), "to": db.Optional(scan.To), "limit": scan.Limit,
	}
}

// OpenWork counts the events that are PROCESSING, and the PENDING deliveries of other events.
func (s Store) OpenWork(ctx context.Context) (events, deliveries int, err error) {
	const query = `
		SELECT (SELECT count(*) FROM processed_event WHERE status = 'PROCESSING') AS events,
		       (SELECT count(*)
		        FROM   notification n
		        LEFT JOIN processed_event p USING (event_id)
		        WHERE  n.status = 'PENDING'
		        AND    p.status IS DISTINCT FROM 'PROCESSING') AS deliveries`

	err = db.Each(ctx, s.Pool, "count what is open", []any{&events, &deliveries}, func() {}, query)
	return events, deliveries, err
}

// EventIsOpen reports whether an event is PROCESSING.
func (s Store) EventIsOpen(ctx context.Context, eventID string) (bool, error) {
	const query = "SELECT EXISTS (SELECT FROM processed_event WHERE event_id = $1 AND status = 'PROCESSING')"
	return db.One(ctx, s.Pool, "look at an event", pgx.RowTo[bool], query, eventID)
}

// DeliveryIsOpen reports whether a delivery is PENDING.
func (s Store) DeliveryIsOpen(ctx context.Context, deliveryID string) (bool, error) {
	const query = "SELECT EXISTS (SELECT FROM notification WHERE delivery_id = $1 AND status = 'PENDING')"
	return db.One(ctx, s.Pool, "look at a delivery", pgx.RowTo[bool], query, deliveryID)
}

// EventRestarted counts a restart of an event by the sweep.
func (s Store) EventRestarted(ctx context.Context, eventID string) error {
	return s.Exec(ctx, "count restart of event", "UPDATE processed_event SET restarts = restarts + 1 WHERE event_id = $1", eventID)
}

// DeliveryRestarted counts a restart of a delivery by the sweep.
func (s Store) DeliveryRestarted(ctx context.Context, deliveryID string) error {
	return s.Exec(ctx, "count restart of delivery", "UPDATE notification SET restarts = restarts + 1 WHERE delivery_id = $1", deliveryID)
}

// EndStuckEvent marks an event that is PROCESSING for longer than age as FAILED, with an
// outcome. An event that began anew stays as it is.
func (s Store) EndStuckEvent(ctx context.Context, eventID string, outcome notification.EventOutcome, age time.Duration) error {
	const query = `
		UPDATE processed_event
		SET    status     = 'FAILED',
		       outcome    = $2,
		       updated_at = now()
		WHERE  event_id = $1
		AND    status = 'PROCESSING'
		AND    created_at < now() - $3::interval`

	return s.Exec(ctx, "end stuck event", query, eventID, outcome, age)
}

// RecordSweep stores the result of a sweep, for the next sweep and for operators. It
// removes the outcome INCOMPLETE from events whose deliveries have all ended.
func (s Store) RecordSweep(ctx context.Context, sweep notification.Sweep) error {
	const insert = `
		INSERT INTO sweep (looked, started_again, closed, failed, ambiguous, after_event, after_notification, after_waiting_event,
		                   receipts_to)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	const forget = `
		DELETE FROM sweep
		WHERE  id <= (SELECT id FROM sweep ORDER BY id DESC OFFSET 100 LIMIT 1)`
	const complete = `
		UPDATE processed_event
		SET    outcome = CASE WHEN problem IS NOT NULL THEN 'PROBLEM' END
		WHERE  event_id IN (
			SELECT event_id
			FROM   processed_event p
			WHERE  outcome = 'INCOMPLETE'
			AND    NOT EXISTS (SELECT FROM notification n WHERE n.event_id = p.event_id AND n.status = 'PENDING')
			LIMIT  1000)`

	batch := &pgx.Batch{}
	batch.Queue(insert, sweep.Looked, sweep.StartedAgain, sweep.Closed, sweep.Failed, sweep.Ambiguous, sweep.AfterEvent,
		sweep.AfterNotification, sweep.AfterWaitingEvent, sweep.ReceiptsTo)
	batch.Queue(forget)
	batch.Queue(complete)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return db.Wrap(err, "record sweep")
}

// LastSweep reads the result of the last sweep. The zero value: there was none. ReceiptsTo is from the
// last sweep that counted receipts: a worker of 1.0 counts none.
func (s Store) LastSweep(ctx context.Context) (notification.Sweep, error) {
	const query = `
		SELECT at, looked, started_again, closed, failed, ambiguous, after_event, after_notification, after_waiting_event,
		       (SELECT receipts_to FROM sweep WHERE receipts_to IS NOT NULL ORDER BY id DESC LIMIT 1) AS receipts_to
		FROM   sweep
		ORDER BY id DESC
		LIMIT  1`

	last, err := db.One(ctx, s.Pool, "read last sweep", db.ByName[notification.Sweep](), query)
	return last, db.IgnoreNoRows(err)
}

// CountDeliveries counts the deliveries of each ten minutes into delivery_count. It begins two hours
// before the last count, and at most six hours ago. A receipt that comes later changes no count. A
// repeat is safe.
func (s Store) CountDeliveries(ctx context.Context) error {
	const query = `
		WITH counted AS (
			SELECT date_bin('10 minutes', greatest(coalesce(max(since), now()) - interval '2 hours', now() - interval '6 hours'), 'epoch') AS start
			FROM   delivery_count
		), fresh AS (
			SELECT date_bin('10 minutes', created_at, 'epoch') AS since, channel, status, count(*) AS count
			FROM   notification
			WHERE  created_at >= (SELECT start FROM counted)
			GROUP BY 1, 2, 3
		), removed AS (
			DELETE FROM delivery_count c
			WHERE  c.since < now() - interval '8 days'
			OR     c.since >= (SELECT start FROM counted)
			AND    NOT EXISTS (SELECT FROM fresh f WHERE (f.since, f.channel, f.status) = (c.since, c.channel, c.status))
		)
		INSERT INTO delivery_count AS c (since, channel, status, count)
		SELECT since, channel, status, count
		FROM   fresh
		ON CONFLICT (since, channel, status) DO UPDATE SET count = excluded.count
		WHERE  c.count <> excluded.count`

	return s.Exec(ctx, "count deliveries", query)
}
