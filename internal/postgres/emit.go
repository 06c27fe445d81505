package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/notification"
)

// RefusedEventError means that event_outbox refuses an event as it is.
type RefusedEventError struct {
	Why string // in an operator's words, without any of the event's values
	Err error
}

func (e *RefusedEventError) Error() string { return "event_outbox refuses the event: " + e.Why }

func (e *RefusedEventError) Unwrap() error { return e.Err }

// InsertEvents writes events as a business service would, all of them or none. It
// ignores their CreatedAt. Where the table refuses one, the error is a
// [RefusedEventError].
func (s *Store) InsertEvents(ctx context.Context, events []notification.Event) error {
	const query = `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id)
		SELECT id, type, aggregate_type, aggregate_id, payload::jsonb, nullif(correlation_id, '')
		FROM   unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
		       AS e (id, type, aggregate_type, aggregate_id, payload, correlation_id)`

	var columns [6][]string
	for _, e := range events {
		for i, value := range []string{e.ID, e.Type, e.AggregateType, e.AggregateID, string(e.Payload), e.CorrelationID} {
			columns[i] = append(columns[i], value)
		}
	}
	_, err := s.Pool.Exec(ctx, query, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5])
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		if why := refusedEvent(refusal); why != "" {
			return &RefusedEventError{Why: why, Err: err}
		}
	}
	return wrap(err, "insert events")
}

// refusedConstraints says what the constraints of event_outbox mean.
var refusedConstraints = map[string]string{
	"event_outbox_pkey":                     "there is an event with this id already",
	"event_outbox_event_id_length":          "an event id has 1 to 150 bytes",
	"event_outbox_event_id_printable":       "an event id has no control characters",
	"event_outbox_event_type_length":        "an event type has 1 to 100 bytes",
	"event_outbox_aggregate_type_length":    "an aggregate type has 1 to 100 bytes",
	"event_outbox_aggregate_id_length":      "an aggregate id has 1 to 100 bytes",
	"event_outbox_correlation_id_length":    "a correlation id has at most 255 bytes",
	"event_outbox_event_type_printable":     "an event type has no control characters",
	"event_outbox_aggregate_type_printable": "an aggregate type has no control characters",
	"event_outbox_aggregate_id_printable":   "an aggregate id has no control characters",
	"event_outbox_correlation_id_printable": "a correlation id has no control characters",
	"event_outbox_payload_object":           "the payload is not a JSON object",
	"event_outbox_payload_size":             "the payload is larger than 256 KiB",
}

// Codes of values that no column takes.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	invalidText          = "22P02"
	untranslatable       = "22P05"
	notInRepertoire      = "22021"
	programLimitExceeded = "54000"
)

// refusedEvent says why the table refuses an event; "": the failure is not about one.
func refusedEvent(err *pgconn.PgError) string {
	switch err.Code {
	case invalidText:
		return "the payload is not JSON as Postgres knows it"
	case untranslatable, notInRepertoire:
		return `a value holds a character that Postgres cannot store, such as \u0000`
	case programLimitExceeded:
		return "the payload is too large or too deep"
	}
	if err.ConstraintName == "" {
		return ""
	}
	if why, known := refusedConstraints[err.ConstraintName]; known {
		return why
	}
	return "constraint " + err.ConstraintName
}
