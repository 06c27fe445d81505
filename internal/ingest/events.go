package ingest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/outbox"
)

// TakeEvent writes an event in a separate transaction. written is false if exactly this event was
// there already. If another event has its id, the error is [outbox.ErrDuplicateID].
func (s Store) TakeEvent(ctx context.Context, event outbox.Event) (written bool, err error) {
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return outbox.Insert(ctx, tx, event) })
	if !errors.Is(err, outbox.ErrDuplicateID) {
		return err == nil, err
	}
	known, failure := s.HasEvent(ctx, event)
	if failure == nil && !known {
		failure = err
	}
	return false, failure
}

// EventType returns the type of an event; empty: there is no such event.
func (s Store) EventType(ctx context.Context, eventID string) (string, error) {
	const query = "SELECT event_type FROM event_outbox WHERE event_id = $1"

	found, err := db.One(ctx, s.Pool, "read the type of an event", pgx.RowTo[string], query, eventID)
	if outbox.RefusesValue(err) {
		return "", nil
	}
	return found, db.IgnoreNoRows(err)
}

// PayloadSchema returns the schema of an event type's payloads; empty: it has none.
func (s Store) PayloadSchema(ctx context.Context, eventType string) (string, error) {
	const query = "SELECT payload_schema::text FROM event_type_schema WHERE event_type = $1"

	found, err := db.One(ctx, s.Pool, "read the schema of payloads", pgx.RowTo[string], query, eventType)
	return found, db.IgnoreNoRows(err)
}

// Locales returns the most frequent locales of the directory's first people, at most limit.
func (s Store) Locales(ctx context.Context, limit int) ([]string, error) {
	const query = `
		SELECT locale
		FROM  (SELECT locale::text FROM recipient LIMIT 10000) r
		WHERE  locale <> ''
		GROUP BY locale
		ORDER BY count(*) DESC, locale
		LIMIT  $1`

	return db.Collect(ctx, s.Pool, "read locales", pgx.RowTo[string], query, limit)
}

// HasEvent reports whether event_outbox has exactly this event.
func (s Store) HasEvent(ctx context.Context, event outbox.Event) (bool, error) {
	const query = `
		SELECT event_type = @type
		       AND aggregate_type = @aggregate_type
		       AND aggregate_id = @aggregate_id
		       AND payload = @payload::text::jsonb
		       AND coalesce(correlation_id, '') = @correlation_id
		       AND coalesce(cancels, '') = @cancels
		       AND expires_at IS NOT DISTINCT FROM @expires_at::timestamptz
		       AND coalesce(collapse_key, '') = @collapse_key
		       AND coalesce(actor_type, '') = @actor_type
		       AND coalesce(actor_id, '') = @actor_id
		       AND coalesce(exclude, '{}') = @exclude
		FROM   event_outbox
		WHERE  event_id = @id`

	payload, _ := event.Payload.(json.RawMessage)
	same, err := db.One(ctx, s.Pool, "compare events", pgx.RowTo[bool], query, pgx.NamedArgs{
		"id": event.ID, "type": event.Type, "aggregate_type": event.AggregateType, "aggregate_id": event.AggregateID,
		"payload": string(payload), "correlation_id": event.CorrelationID, "cancels": event.Cancels,
		"expires_at": db.Optional(event.ExpiresAt), "collapse_key": event.CollapseKey,
		"actor_type": event.ActorType, "actor_id": event.ActorID, "exclude": append([]string{}, event.Exclude...),
	})
	if outbox.RefusesValue(err) { // Postgres cannot store the values, so no row has them
		return false, nil
	}
	return same, db.IgnoreNoRows(err)
}
