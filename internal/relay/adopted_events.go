package relay

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/outbox"
)

// Adopt inserts the new rows of another outbox as events, in one statement, or one by one if the
// database refuses a value. It returns, by id, why it could not insert an event: the database refuses a
// value, or the id belongs to another source or to an earlier row. It inserts all other events.
func (s Store) Adopt(ctx context.Context, source string, events []AdoptedEvent) (problems map[string]string, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	problems, err = s.insertAdopted(ctx, source, events)
	if refusal(err) == "" {
		return problems, err
	}
	problems = map[string]string{}
	for _, event := range events {
		one, err := s.insertAdopted(ctx, source, []AdoptedEvent{event})
		if why := refusal(err); why != "" {
			problems[event.ID] = why
		} else if err != nil {
			return nil, err
		} else if why, taken := one[event.ID]; taken {
			problems[event.ID] = why
		}
	}
	return problems, nil
}

func (s Store) insertAdopted(ctx context.Context, source string, events []AdoptedEvent) (taken map[string]string, err error) {
	const query = `
		INSERT INTO event_outbox (event_id, source, event_type, aggregate_type, aggregate_id, correlation_id, payload, created_at)
		SELECT event_id, $1, event_type, nullif(aggregate_type, ''), nullif(aggregate_id, ''), nullif(correlation_id, ''), payload::jsonb,
		       coalesce(created_at, now())
		FROM   unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
		       WITH ORDINALITY AS r (event_id, event_type, aggregate_type, aggregate_id, correlation_id, payload, created_at, n)
		ORDER BY n
		ON CONFLICT DO NOTHING
		RETURNING event_id`

	n := len(events)
	ids, types, aggregateTypes, aggregateIDs := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	correlationIDs, payloads, createdAt := make([]string, n), make([]string, n), make([]*time.Time, n)
	for i, event := range events {
		ids[i], types[i], aggregateTypes[i], aggregateIDs[i] = event.ID, event.Type, event.AggregateType, event.AggregateID
		correlationIDs[i], payloads[i], createdAt[i] = event.CorrelationID, string(event.Payload), event.CreatedAt
	}
	inserted, err := db.Collect(ctx, s.Pool, "adopt events", pgx.RowTo[string], query, source, ids, types, aggregateTypes, aggregateIDs,
		correlationIDs, payloads, createdAt)
	if err != nil || len(inserted) == n {
		return nil, err
	}
	return s.takenIDs(ctx, source, ids, createdAt)
}

// takenIDs returns a problem for each id that belongs to an event of another source or of
// an earlier row. Ids start again when a table is emptied.
func (s Store) takenIDs(ctx context.Context, source string, ids []string, createdAt []*time.Time) (map[string]string, error) {
	const query = `
		SELECT o.event_id
		FROM   unnest($2::text[], $3::timestamptz[]) AS r (event_id, created_at)
		JOIN   event_outbox o USING (event_id)
		WHERE  o.source <> $1
		OR     o.created_at <> r.created_at`

	found, err := db.Collect(ctx, s.Pool, "read the events of other sources", pgx.RowTo[string], query, source, ids, createdAt)
	taken := map[string]string{}
	for _, id := range found {
		taken[id] = "another source, or an earlier row, has an event with the id " + id
	}
	return taken, err
}

// Unadopted returns the ids that belong to no event.
func (s Store) Unadopted(ctx context.Context, ids []string) ([]string, error) {
	const query = `
		SELECT r.event_id
		FROM   unnest($1::text[]) AS r (event_id)
		WHERE  NOT EXISTS (SELECT FROM event_outbox o WHERE o.event_id = r.event_id)
		AND    NOT EXISTS (SELECT FROM processed_event p WHERE p.event_id = r.event_id)`

	return db.Collect(ctx, s.Pool, "read events", pgx.RowTo[string], query, ids)
}

// integrityViolation is the class of refused rows.
const integrityViolation = "23"

// refusal returns why the database refused a value, or "" if it did not. It may refuse a
// payload with \u0000, or a payload that is too large in the database's spelling. The text quotes
// no value.
func refusal(err error) string {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || !outbox.RefusesValue(err) && !strings.HasPrefix(refused.Code, integrityViolation) {
		return ""
	}
	return strings.TrimSpace("Herald's database refuses it: SQLSTATE " + refused.Code + " " + refused.ConstraintName)
}

// BeginOwnOutbox records once where the relay through Herald's own outbox begins.
func (s Store) BeginOwnOutbox(ctx context.Context) error {
	const query = `
		INSERT INTO source_start (source, seq)
		SELECT 'herald', coalesce(max(seq), 0)
		FROM  (SELECT seq FROM event_outbox ORDER BY seq DESC LIMIT 1) AS last
		ON CONFLICT DO NOTHING`

	return s.Exec(ctx, "begin the walk of Herald's outbox", query)
}
