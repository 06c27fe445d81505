package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/postgres"
	"herald/outbox"
)

// TakeEvent writes an event in a separate transaction. written is false if exactly this event was
// there already. If another event has its id, the error is [outbox.ErrDuplicateID].
func (s *Store) TakeEvent(ctx context.Context, event outbox.Event) (written bool, err error) {
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

// HasEvent reports whether event_outbox has exactly this event.
func (s *Store) HasEvent(ctx context.Context, event outbox.Event) (bool, error) {
	const query = `
		SELECT event_type = $2
		       AND aggregate_type = $3
		       AND aggregate_id = $4
		       AND payload = $5::text::jsonb
		       AND coalesce(correlation_id, '') = $6
		       AND coalesce(cancels, '') = $7
		       AND expires_at IS NOT DISTINCT FROM $8::timestamptz
		       AND coalesce(collapse_key, '') = $9
		FROM   event_outbox
		WHERE  event_id = $1`

	payload, _ := event.Payload.(json.RawMessage)
	same, err := postgres.One(ctx, s.Pool, "compare events", pgx.RowTo[bool], query, event.ID, event.Type, event.AggregateType, event.AggregateID,
		string(payload), event.CorrelationID, event.Cancels, postgres.Optional(event.ExpiresAt), event.CollapseKey)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "22") { // Postgres cannot store the values, so no row has them
		return false, nil
	}
	return same, postgres.IgnoreNoRows(err)
}
