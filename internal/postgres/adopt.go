package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/notification"
)

// cancelledEvent says that the event of the row n, which its topic may lack, was withdrawn
// before its start, or that its workflow was cancelled, or has failed, after it: p is its
// row in processed_event. What its topic has refused is FAILED for another reason.
const cancelledEvent = `((n.status = 'FAILED' AND n.error_message = '` + CancelledByOperator + `')
		            OR (n.status = 'PROCESSED' AND p.status = 'FAILED'))`

// RowsFailed records that the rows of events were marked as failed in their own table, as
// far as the events are still cancelled.
func (s *Store) RowsFailed(ctx context.Context, ids []string) error {
	const query = `
		UPDATE event_outbox
		SET    row_failed_at = now()
		WHERE  event_id IN (
			SELECT n.event_id
			FROM   event_outbox n
			LEFT JOIN processed_event p USING (event_id)
			WHERE  n.event_id = ANY ($1)
			AND    n.acknowledged_at IS NULL
			AND    ` + cancelledEvent + `
			FOR UPDATE OF n)`

	_, err := s.Pool.Exec(ctx, query, ids)
	return wrap(err, "record marked rows")
}

// KnownEvents reads what became of those of the events that event_outbox has.
func (s *Store) KnownEvents(ctx context.Context, ids []string) (map[string]notification.KnownEvent, error) {
	const query = `
		SELECT n.event_id AS id,
		       n.source,
		       n.status,
		       CASE WHEN ` + cancelledEvent + ` THEN coalesce(` + cancellation + `, '')
		            WHEN n.status = 'FAILED' AND n.attempt_count = 0 THEN coalesce(n.error_message, '')
		            ELSE '' END AS unfit,
		       CASE WHEN ` + cancelledEvent + ` AND p.outcome = 'FAILED' THEN 'its workflow has failed'
		            WHEN ` + cancelledEvent + ` THEN '` + CancelledByOperator + `'
		            ELSE '' END AS cancelled,
		       n.row_failed_at IS NOT NULL AS row_failed,
		       n.status = 'FAILED' AND n.sink_attempts > 0 AND p.status IS NOT DISTINCT FROM 'PROCESSING' AS refused,
		       n.acknowledged_at IS NOT NULL AS acknowledged,
		       n.created_at,
		       -- A workflow that has recorded its end still runs for a moment, in which it cannot be started.
		       p.status IS NULL OR (p.status = 'FAILED' AND p.updated_at < now() - interval '15 seconds') AS ended,
		       n.sink_attempts AS refusals,
		       coalesce(greatest(n.lease_until - now(), '0'), '0') AS wait
		FROM   event_outbox n
		LEFT JOIN processed_event p USING (event_id)
		WHERE  n.event_id = ANY ($1)`

	found, err := collect(ctx, s.Pool, "read known events", pgx.RowToStructByName[notification.KnownEvent], query, ids)
	known := map[string]notification.KnownEvent{}
	for _, event := range found {
		known[event.ID] = event
	}
	return known, err
}

// OpenEvents counts the events of another outbox that wait for their start or for their
// broker, up to [notification.MaxOpenRows]. Those that an operator cancelled, or that
// failed, are not open.
func (s *Store) OpenEvents(ctx context.Context, source string) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   event_outbox o
		       WHERE  source = $1
		       AND    source <> 'herald'
		       AND    acknowledged_at IS NULL
		       AND    status IN ('PENDING', 'PROCESSED')
		       AND    NOT EXISTS (SELECT FROM processed_event p WHERE p.event_id = o.event_id AND p.status <> 'PROCESSING')
		       LIMIT  $2) AS open`

	var count int
	err := s.Pool.QueryRow(ctx, query, source, notification.MaxOpenRows).Scan(&count)
	return count, wrap(err, "count open events")
}

// FailedEvents counts the events of another outbox that are FAILED, up to [MostCounted].
func (s *Store) FailedEvents(ctx context.Context, source string) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT
		       FROM   event_outbox
		       WHERE  source = $1
		       AND    source <> 'herald'
		       AND    acknowledged_at IS NULL
		       AND    status = 'FAILED'
		       LIMIT  $2) AS failed`

	var count int
	err := s.Pool.QueryRow(ctx, query, source, MostCounted).Scan(&count)
	return count, wrap(err, "count failed events")
}

// AdoptEvents inserts the events of another outbox, all that are new in one statement.
// Where the database refuses a value that looked right, the event goes in without its
// payload. It returns why it refuses events all the same, by id: the others are in.
func (s *Store) AdoptEvents(ctx context.Context, source string, events []notification.AdoptedEvent) (refused map[string]string, err error) {
	err = s.insertAdopted(ctx, source, events)
	if refusal(err) == "" {
		return nil, err
	}
	refused = map[string]string{}
	for _, event := range events {
		one := []notification.AdoptedEvent{event}
		err := s.insertAdopted(ctx, source, one)
		if refusal(err) != "" && event.Payload != nil {
			one[0].Payload = nil
			err = s.insertAdopted(ctx, source, one)
		}
		if why := refusal(err); why != "" {
			refused[event.ID] = why
		} else if err != nil {
			return nil, err
		}
	}
	return refused, nil
}

func (s *Store) insertAdopted(ctx context.Context, source string, events []notification.AdoptedEvent) error {
	const query = `
		INSERT INTO event_outbox (event_id, source, event_type, aggregate_type, aggregate_id, correlation_id, payload, created_at, status, error_message)
		SELECT event_id, $1, event_type, nullif(aggregate_type, ''), nullif(aggregate_id, ''), nullif(correlation_id, ''), payload::jsonb, created_at,
		       CASE WHEN problem = '' THEN 'PENDING' ELSE 'FAILED' END, nullif(problem, '')
		FROM   unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[])
		       WITH ORDINALITY AS r (event_id, event_type, aggregate_type, aggregate_id, correlation_id, payload, created_at, problem, n)
		ORDER BY n
		ON CONFLICT DO NOTHING`

	var columns adoptedColumns
	for _, event := range events {
		columns.add(event)
	}
	_, err := s.Pool.Exec(ctx, query, source, columns.ids, columns.types, columns.aggregateTypes, columns.aggregateIDs, columns.correlationIDs,
		columns.payloads, columns.createdAt, columns.problems)
	return wrap(err, "adopt events")
}

// refusal says why the database refused a value, such as a payload with \u0000, or one
// that is larger as the database writes it, and quotes none; empty: it did not.
func refusal(err error) string {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) < 2 {
		return ""
	}
	switch refused.Code[:2] {
	case "22", "23", "54": // data exception, integrity constraint violation, program limit exceeded
		return strings.TrimSpace("Herald's database refuses it: SQLSTATE " + refused.Code + " " + refused.ConstraintName)
	default:
		return ""
	}
}

// Acknowledge records that the topics of events have them, or that they go to none and
// were started, unless that is recorded. It returns how old each of the events is; a
// duration holds no 300 years, and the clocks of services may have any.
func (s *Store) Acknowledge(ctx context.Context, ids []string) (ages []time.Duration, err error) {
	const query = `
		UPDATE event_outbox
		SET    acknowledged_at = now()
		WHERE  event_id = ANY ($1)
		AND    acknowledged_at IS NULL
		RETURNING least(greatest(now() - created_at, '0'), '100 years')`

	return collect(ctx, s.Pool, "acknowledge events", pgx.RowTo[time.Duration], query, ids)
}
