package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/outbox"
)

// ClaimEvents claims events of Herald's own table, as [Store.ClaimEventsOf] does.
func (s Store) ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error) {
	return s.ClaimEventsOf(ctx, notification.HeraldSource, owner, limit, lease)
}

// pendingFacts is a row o of event_outbox as a [notification.PendingEvent]; empty: there is none.
const pendingFacts = `coalesce(o.event_type, '') AS type, coalesce(o.aggregate_type, '') AS aggregate_type, coalesce(o.aggregate_id, '')
	AS aggregate_id,
		       coalesce(o.correlation_id, '') AS correlation_id, coalesce(o.cancels, '') AS cancels, coalesce(o.traceparent, '') AS traceparent,
		       o.acknowledged_at IS NOT NULL AS published`

// ClaimEventsOf leases up to limit pending events of a source to owner, in the order of
// arrival. A lease that has run out is free again: its poller died, or lost its connection.
// Owner must be unique to this claim, since [Store.EndClaim] uses it as the fence. Only the
// database's clock decides.
//
// Most claims begin at the source's [claimFloor], so they may find a row below it a second
// later.
func (s Store) ClaimEventsOf(
	ctx context.Context, source, owner string, limit int, lease time.Duration,
) ([]notification.PendingEvent, error) {
	const query = `
		WITH claimed AS (
			UPDATE event_outbox o
			SET    lease_owner   = $1,
			       lease_until   = now() + $3,
			       attempt_count = o.attempt_count + 1
			WHERE  o.ctid = ANY (ARRAY ( -- any other column would read all pending rows
				SELECT ctid
				FROM   event_outbox
				WHERE  source = $4
				AND    status = 'PENDING'
				AND    (lease_until IS NULL OR lease_until < now())
				AND    seq >= $5
				ORDER BY seq
				LIMIT  $2
				FOR UPDATE SKIP LOCKED
			))
			AND    o.status = (SELECT 'PENDING') -- keeps the planner from the index of all pending rows
			RETURNING o.*
		)
		SELECT o.seq,
		       o.event_id AS id,
		       ` + pendingFacts + `,
		       o.attempt_count AS claims,
		       p.event_id IS NOT NULL AS processed
		FROM   claimed o
		LEFT JOIN processed_event p USING (event_id)
		ORDER BY o.seq`

	floor, now := s.floors.of(source), time.Now()
	rows, err := db.Collect(ctx, s.Pool, "claim events", pgx.RowToStructByNameLax[claimedEvent], query,
		pgx.QueryExecModeExec, // a plan made for few pending rows reads all of them
		owner, limit, lease, source, floor.from(now))
	if err != nil {
		return nil, err
	}
	floor.claimed(rows, now)
	events := make([]notification.PendingEvent, 0, len(rows))
	for _, row := range rows {
		events = append(events, row.PendingEvent)
	}
	return events, nil
}

// EndClaim records the results of the events that owner claimed, in one statement. It skips
// an event whose lease ran out and that another poller has claimed.
//
// It writes processed_event together with PROCESSED, after the workflow has started. After
// a crash before this statement, the event starts again; its workflow ID makes that harmless.
// A crash after the statement loses nothing. If the workflow has ended by now, the row that the
// workflow wrote stays.
func (s Store) EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error {
	const query = `
		WITH ended AS (
			UPDATE event_outbox o
			SET    status        = CASE r."Outcome" WHEN 'STARTED' THEN 'PROCESSED' WHEN 'FAILED' THEN 'FAILED' ELSE 'PENDING' END,
			       published_at  = CASE r."Outcome" WHEN 'STARTED' THEN now() END,
			       error_message = nullif(r."Error", ''),
			       attempt_count = o.attempt_count - CASE r."Outcome" WHEN 'RELEASED' THEN 1 ELSE 0 END,
			       lease_owner   = CASE r."Outcome" WHEN 'KEPT' THEN o.lease_owner END,
			       lease_until   = CASE r."Outcome" WHEN 'KEPT' THEN o.lease_until END
			FROM   jsonb_to_recordset($2) AS r ("EventID" text, "Outcome" text, "Error" text)
			WHERE  o.event_id = r."EventID"
			AND    o.lease_owner = $1
			RETURNING o.event_id, o.status
		)
		INSERT INTO processed_event (event_id)
		SELECT event_id
		FROM   ended
		WHERE  status = 'PROCESSED'
		ON CONFLICT DO NOTHING`

	return s.Exec(ctx, "end claim", query, owner, results)
}

// ListenEvents calls wake whenever somebody writes to event_outbox, until ctx ends. A
// wake-up is only a hint: while the connection is lost, notifications are lost too.
func (s Store) ListenEvents(ctx context.Context, wake func()) { s.Listen(ctx, "event_outbox", wake) }

// OutboxState reads the backlog of Herald's own outbox. It counts the failed events of all outboxes.
func (s Store) OutboxState(ctx context.Context) (notification.OutboxState, error) {
	const query = `
		SELECT p.pending, f.failed, p.oldest
		FROM  (SELECT count(*) AS pending,
		              coalesce(greatest(clock_timestamp() - min(created_at), '0'), '0') AS oldest
		       FROM  (SELECT created_at
		              FROM   event_outbox
		              WHERE  source = 'herald'
		              AND    status = 'PENDING'
		              ORDER BY seq
		              LIMIT  $1) AS first) AS p,
		      (SELECT count(*) AS failed
		       FROM  (SELECT
		              FROM   event_outbox
		              WHERE  status = 'FAILED'
		              LIMIT  $1) AS any_of_them) AS f`

	return db.One(ctx, s.Pool, "read outbox", pgx.RowToStructByPos[notification.OutboxState], query, db.MostCounted)
}

// InsertEvents writes events as a business service would, all of them or none. If the table
// refuses an event, the error is an [outbox.RefusedError].
func (s Store) InsertEvents(ctx context.Context, events []outbox.Event) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return outbox.Insert(ctx, tx, events...) })
}
